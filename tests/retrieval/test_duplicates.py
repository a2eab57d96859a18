"""The same text in several places."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.retrieval.duplicates import compared
from unchunk.retrieval.shelf import Place

LONG = "The white whale swam before him as the monomaniac incarnation of all malicious agencies"


def at(number: int) -> Place:
    return Place(f"d{number}", 1, 0)


def test_a_copy_is_told_with_its_original_and_the_best_one_stays() -> None:
    found = [(at(1), 0.9, LONG), (at(2), 0.5, "quite another"), (at(3), 0.9, f"{LONG}.")]
    assert compared(found).copies == {at(3): at(1)}


def test_a_copy_may_have_other_white_space_and_a_score_a_little_lower() -> None:
    found = [(at(1), 0.9, LONG), (at(2), 0.893, LONG.replace(" ", "\n\n"))]
    assert compared(found).copies == {at(2): at(1)}


def test_a_copy_of_a_copy_points_to_the_first() -> None:
    found = [(at(n), 0.9, LONG) for n in range(3)]
    assert compared(found).copies == {at(1): at(0), at(2): at(0)}


def test_texts_that_share_half_their_words_are_not_compared() -> None:
    half = LONG[: len(LONG) // 2] + " another end with other words than the ones before it"
    assert compared([(at(1), 0.9, LONG), (at(2), 0.9, half)]).copies == {}


def test_short_texts_are_copies_only_if_they_are_the_same() -> None:
    found = [
        (at(1), 0.9, "yes it is so"),
        (at(2), 0.9, "yes it is not"),
        (at(3), 0.9, "yes it is so."),
    ]
    assert compared(found).copies == {at(3): at(1)}


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Members pay a fee.", "Members pay no fee.", ("a fee", "no fee")),
        ("Dogs are allowed.", "Dogs are not allowed.", ("are allowed", "are not allowed")),
        ("Fee: 5 euros", "Fee: 6 euros", ("5 euros", "6 euros")),
        ("费用五元", "费用六元", ("五元", "六元")),
    ],
)
def test_short_texts_are_told_of_if_one_word_differs(
    one: str, other: str, told: tuple[str, str]
) -> None:
    [variant] = compared([(at(1), 0.9, one), (at(2), 0.9, other)]).variants
    assert variant.differences == (told,)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Yes.", "No."), ("Dogs are allowed.", "Cats were allowed."), ("Fee: 5 euros", "5 cats")],
)
def test_short_texts_of_which_more_differs_are_not_told_of(one: str, other: str) -> None:
    assert compared([(at(1), 0.9, one), (at(2), 0.9, other)]) == ({}, ())


@given(st.lists(st.tuples(st.floats(-1, 1), st.text("ab ", max_size=12)), max_size=12))
def test_every_copy_has_an_original_that_stands_before_it_and_is_none_itself(
    texts: list[tuple[float, str]],
) -> None:
    found = [(at(n), score, text) for n, (score, text) in enumerate(texts)]
    places = [place for place, _, _ in found]
    for copy, original in compared(found).copies.items():
        assert places.index(original) < places.index(copy)
        assert original not in compared(found).copies


LEASE = "The landlord repairs the roof within six hours of a written notice by the tenant."


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (LEASE, LEASE.replace("six", "seven"), ("six hours", "seven hours")),
        (LEASE, LEASE.replace("six", "16"), ("six hours", "16 hours")),
        (LEASE, LEASE.replace("within", "not within"), ("roof within", "roof not within")),
        (LEASE, LEASE.replace("tenant", "Harbour"), ("tenant", "Harbour")),
        ("No dogs are allowed in the garden.", "Dogs are allowed in the garden.", ("No dogs are", "Dogs are")),
        ("Set the value of max_size in this file.", "Set the value of min_size in this file.",
         ("max_size in", "min_size in")),
        ("It is lawful to anchor in the bay at night.", "It is unlawful to anchor in the bay at night.",
         ("lawful to", "unlawful to")),
        ("Die Miete ist am dritten Werktag jedes Monats fällig.",
         "Die Miete ist am fünften Werktag jedes Monats fällig.",
         ("dritten Werktag", "fünften Werktag")),
        ("Der Vertrag gilt einundzwanzig Tage ab heute.", "Der Vertrag gilt zweiundzwanzig Tage ab heute.",
         ("einundzwanzig Tage", "zweiundzwanzig Tage")),
        ("Haustiere sind hier erlaubt, wenn sie klein sind.",
         "Haustiere sind hier nicht erlaubt, wenn sie klein sind.",
         ("hier erlaubt", "hier nicht erlaubt")),
        ("Le contrat dure quatre ans et se renouvelle seul.", "Le contrat dure cinq ans et se renouvelle seul.",
         ("quatre ans", "cinq ans")),
        ("The office of the harbour opens at 6 am on weekdays.",
         "The office of the harbour opens at 6 pm on weekdays.", ("6 am on", "6 pm on")),
        ("Give the patient five mg of it with some water.", "Give the patient five g of it with some water.",
         ("mg of", "g of")),
        ("Keep the pressure of the boiler < 5 bar at all times.",
         "Keep the pressure of the boiler > 5 bar at all times.", ("< 5", "> 5")),
        ("Keep the fish in the store at −5 degrees.", "Keep the fish in the store at 5 degrees.",
         ("−5 degrees", "5 degrees")),
        ("Keep the level of the tank below the red mark.", "Keep the level of the tank above the red mark.",
         ("below the", "above the")),
        ("The crew must pay the fee before noon.", "The crew may pay the fee before noon.",
         ("must pay", "may pay")),
        ("潜水员应在退潮后六小时内检查。", "潜水员应在退潮后七小时内检查。", ("六小", "七小")),
    ],
)  # fmt: skip
def test_where_a_word_differs_both_stay_and_it_is_told(
    one: str, other: str, told: tuple[str, str]
) -> None:
    found = compared([(at(1), 0.9, one), (at(2), 0.7, other)])
    assert found.copies == {}
    [variant] = found.variants
    assert (variant.original, variant.place) == (at(1), at(2))
    assert variant.differences == (told,)


GARDEN = "It is painted white and looked after by a gardener who comes on foot."
LONG = " ".join([LEASE, GARDEN] * 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, LONG.replace(" ", "\n")),
        (LONG.replace("notice", "“notice”"), LONG.replace("notice", '"notice"')),
        (LONG.replace("hours", "hours, at night,"), LONG.replace("hours", "hours at night")),
        (LONG.replace("six", "1–5"), LONG.replace("six", "1-5")),
        (LONG, "# " + LONG.replace("landlord", "land\u00adlord")),
        (
            LONG.replace("white", "weiß über Grün"),
            unicodedata.normalize("NFD", LONG.replace("white", "weiß über Grün")),
        ),
    ],
    ids=["white space", "quotes", "commas", "dashes", "invisible", "decomposed"],
)
def test_where_white_space_and_punctuation_differ_one_of_two_is_a_copy(
    one: str, other: str
) -> None:
    assert compared([(at(1), 0.9, one), (at(2), 0.9, other)]) == ({at(2): at(1)}, ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The lamp is useful there.", "The lamp is useless there."),
        ("The employer pays for it.", "The employee pays for it."),
        ("The bank pays the broker.", "The broker pays the bank."),
        ("The clerk is called smith by all.", "The clerk is called jones by all."),
        ("A vessel of class a pays.", "A vessel of class b pays."),
        ("It takes berths 1, 2 there.", "It takes berths 12 there."),
        ("Vessels of 1–5 metres pay.", "Vessels of 15 metres pay."),
        ("☑ The pump is checked.", "☐ The pump is checked."),
        ("Das dauert anderthalb Stunden.", "Das dauert zweieinhalb Stunden."),
        ("Там можно курить всегда.", "Там нельзя курить всегда."),
        ("Судно платит там сразу.", "Судно не платит там сразу."),
        ("Fartyg betalar där alltid.", "Fartyg betalar inte där alltid."),
        ("Simon Berger signed it.", "Simone Berger signed it."),
        ("It was signed by Peter.", "It was signed by Peters."),
        ("It was signed by Ms. Müller.", "It was signed by Ms. Muller."),
        ("Add .5 mg of the salt.", "Add 5 mg of the salt."),
        ("The income was (500) then.", "The income was 500 then."),
        ("The water may be at –5 degrees.", "The water may be at 5 degrees."),
        ("It was built in the 1990s there.", "It was built in the 1990 there."),
        ("The pump is a 200d there.", "The pump is a 200e there."),
        ("The lamp takes 5 mW there.", "The lamp takes 5 MW there."),
        ("The fee is ¥500 there.", "The fee is ₹500 there."),
        ("It stops if x = 5 there.", "It stops if x ≠ 5 there."),
        ("It stops if x == 5 there.", "It stops if x != 5 there."),
        ("It stops if a<b there.", "It stops if a>b there."),
        ("It stops if (!ready) there.", "It stops if (ready) there."),
        ("Diving at night: ✅ there.", "Diving at night: ❌ there."),
        ("The form goes to US there.", "The form goes to us there."),
        ("A vessel of group a pays.", "A vessel of group pays."),
        ('The pipe is 5" wide there.', "The pipe is 5 wide there."),
        ("Move it by 2, 5 there.", "Move it by 2 5 there."),
        ("It takes six hours there.", "It takes 6 hours there."),
        ("It is allowed there? No.", "It is allowed there. No."),
        ("It is recieved there.", "It is received there."),
    ],
)
def test_where_anything_else_differs_both_stay_and_it_is_told(one: str, other: str) -> None:
    first, second = (f"{LONG} {it} {GARDEN}" for it in (one, other))
    found = compared([(at(1), 0.9, first), (at(2), 0.9, second)])
    assert found.copies == {}
    assert [len(variant.differences) for variant in found.variants] != []


@pytest.mark.parametrize(
    ("first", "second"), [(LONG, f"Withdrawn. {LONG}"), (LONG, f"{LONG} (draft)")]
)
def test_a_word_or_two_more_at_an_end_is_told(first: str, second: str) -> None:
    found = compared([(at(1), 0.9, first), (at(2), 0.9, second)])
    assert (found.copies, len(found.variants)) == ({}, 1)


def test_differences_at_both_ends_of_a_long_chunk_are_told() -> None:
    body = " ".join(f"In berth {n} the {n}th vessel waits for the tide." for n in range(2_000))
    one, other = (
        f"Rules of {a}. {body} A night costs {b} euros." for a, b in ((2019, 22), (2020, 30))
    )
    [variant] = compared([(at(1), 0.9, one), (at(2), 0.9, other)]).variants
    assert variant.differences == (("2019", "2020"), ("22 euros", "30 euros"))


def test_differences_in_numbers_are_told_before_the_others() -> None:
    other = (
        LONG.replace("landlord", "owner", 1).replace("white", "green", 1).replace("foot", "5 feet")
    )
    [variant] = compared([(at(1), 0.9, LONG), (at(2), 0.9, other)]).variants
    assert variant.differences[0] == ("foot", "5 feet")


def test_a_fact_behind_the_end_of_the_other_is_kept_and_no_difference() -> None:
    long = " ".join([LEASE] * 3)
    found = compared([(at(1), 0.9, long), (at(2), 0.9, f"{long} In winter he has twelve hours.")])
    assert found == ({}, ())


def test_more_words_at_an_end_are_told_where_the_document_of_the_other_text_ends_there() -> None:
    found = [(at(1), 0.9, LONG), (at(2), 0.9, f"{LONG[:-1]}, except in the year 2024.")]
    assert compared(found, {at(2)}).variants == ()
    [variant] = compared(found, {at(1)}).variants
    assert variant.differences == (("foot", "foot, except in the year 2024"),)


def test_more_words_at_a_beginning_are_told_where_the_document_of_the_other_text_begins() -> None:
    first, second = Place("a", 1, 0), Place("b", 1, 5)
    longer = f"Except in the year 2024: {LONG}"
    [variant] = compared([(first, 0.9, LONG), (second, 0.9, longer)]).variants
    assert variant.differences[0].there.startswith("Except in the year 2024")
    assert compared([(second, 0.9, LONG), (first, 0.9, longer)]).variants == ()


def test_texts_that_differ_in_many_words_are_not_told_of() -> None:
    other = LEASE.replace("six", "seven").replace("roof", "cellar").replace("written", "spoken")
    assert compared([(at(1), 0.9, LEASE), (at(2), 0.9, other)]) == ({}, ())


def test_long_texts_with_no_word_that_stands_once_all_stay() -> None:
    long = "six seven " * 2_000
    found = [(at(n), 0.9, f"{long}{n} {long[n:]}") for n in range(60)]
    assert compared(found).copies == {}


def test_what_is_told_of_a_hostile_word_is_short() -> None:
    one, other = (f"{LONG} The fee is {'ein' * 4_000}{end} a night." for end in "xy")
    [variant] = compared([(at(1), 0.9, one), (at(2), 0.9, other)]).variants
    assert all(len(told) < 200 for difference in variant.differences for told in difference)


@pytest.mark.parametrize(
    "hostile",
    ["\u0301\u0316" * 200_000, ". " * 200_000, "." * 400_000, '"' * 400_000, "a b " * 100_000],
    ids=["marks on one letter", "points", "leaders", "quotes", "two words"],
)
def test_hostile_texts_are_compared_in_a_time_that_grows_with_their_length(hostile: str) -> None:
    """With the square of it, one of them would take minutes: a timeout would end this test."""
    one, other = f"{LONG} e{hostile} {LONG}", f"{LONG} e{hostile} 5 {LONG}"
    assert compared([(at(1), 0.9, one), (at(2), 0.9, other)]).copies == {}
