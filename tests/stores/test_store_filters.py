"""The filter language is OpenAI's: read strictly, and the same whoever asks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.errors import InvalidInputError
from unchunk.ports import Attribute
from unchunk.stores.filters import Combination, Comparison, Filter, matches, parse

keys = st.sampled_from("abc")
values = st.one_of(
    st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0, -1.0]), st.sampled_from("xyz")
)
ordered = st.one_of(st.integers(-2, 2), st.sampled_from([0.5, 1.0]), st.sampled_from("xyz"))
files = st.dictionaries(keys, values)
comparisons = st.one_of(
    st.builds(Comparison, keys, st.sampled_from(["eq", "ne"]), values),
    st.builds(Comparison, keys, st.sampled_from(["gt", "gte", "lt", "lte"]), ordered),
    st.builds(
        Comparison, keys, st.sampled_from(["in", "nin"]), st.lists(values, max_size=3).map(tuple)
    ),
)
filters = st.recursive(
    comparisons,
    lambda inner: st.builds(
        Combination,
        st.sampled_from(["and", "or"]),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
    ),
    max_leaves=8,
)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "key", "value", "filters", "eq"]) | st.text(max_size=3), inner
        )
    ),
    max_leaves=10,
)


def as_json(it: Filter) -> dict[str, Any]:
    if isinstance(it, Combination):
        return {"type": it.op, "filters": [as_json(part) for part in it.parts]}
    value = list(it.value) if isinstance(it.value, tuple) else it.value
    return {"type": it.op, "key": it.key, "value": value}


def has(op: str, value: object, **attributes: Attribute) -> bool:
    return matches(parse({"type": op, "key": "a", "value": value}), attributes)


@given(filters)
def test_a_filter_is_read_as_it_is_written(it: Filter) -> None:
    # As text: to Python, 1 is True.
    assert repr(parse(as_json(it))) == repr(it)


@given(json)
def test_whatever_is_no_filter_is_refused_with_its_place(it: object) -> None:
    said = ""
    try:
        assert as_json(parse(it)) == it
    except InvalidInputError as error:
        said = str(error)
    assert not said or said.startswith("filters")


@given(keys, values, files)
def test_not_equal_is_the_contrary_of_equal(
    key: str, value: Attribute, file: dict[str, Attribute]
) -> None:
    is_equal = matches(Comparison(key, "eq", value), file)
    assert matches(Comparison(key, "ne", value), file) != is_equal
    assert matches(Comparison(key, "in", (value,)), file) == is_equal
    assert matches(Comparison(key, "nin", (value,)), file) != is_equal


@given(keys, ordered, files)
def test_of_two_that_compare_exactly_one_is_less_or_they_are_equal(
    key: str, value: Attribute, file: dict[str, Attribute]
) -> None:
    less, more, same, not_less, not_more = (
        matches(Comparison(key, op, value), file) for op in ("lt", "gt", "eq", "gte", "lte")
    )
    own = file.get(key)
    kinds = (str, bool, (int, float))
    compares = own is not None and [isinstance(own, it) for it in kinds] == [
        isinstance(value, it) for it in kinds
    ]
    assert less + more + same == compares
    assert (not_less, not_more) == (more or same, less or same)


@given(st.lists(filters, min_size=1, max_size=3).map(tuple), files)
def test_and_wants_all_parts_and_or_wants_one(
    parts: tuple[Filter, ...], file: dict[str, Attribute]
) -> None:
    each = [matches(part, file) for part in parts]
    assert matches(Combination("and", parts), file) == all(each)
    assert matches(Combination("or", parts), file) == any(each)


def test_what_a_file_has_not_is_unequal_to_everything_and_in_nothing() -> None:
    wanted = {"eq": False, "ne": True, "gt": False, "gte": False, "lt": False, "lte": False}
    assert {op: has(op, 0, b=0) for op in wanted} == wanted
    assert has("nin", [0], b=0)
    assert not has("in", [0], b=0)
    assert not has("in", [], a=0)
    assert has("nin", [], a=0)


def test_true_is_not_one_and_a_number_is_no_text() -> None:
    assert has("eq", 1, a=1.0)
    assert not has("eq", 1, a=True)
    assert not has("eq", True, a=1)
    assert not has("eq", "1", a=1)
    assert not has("gt", "0", a=1)
    assert not has("gt", 0, a=True)
    assert has("gt", "a", a="b")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x", "filters must be an object"),
        ({"key": "a", "value": 1}, "filters.type must be one of and, or, eq"),
        ({"type": ["eq"], "key": "a", "value": 1}, "filters.type must be"),
        ({"type": "eq", "value": 1}, "filters.key is missing"),
        ({"type": "eq", "key": "", "value": 1}, "filters.key must be the name"),
        ({"type": "eq", "key": "a"}, "filters.value is missing"),
        ({"type": "eq", "key": "a", "value": None}, "filters.value must be a string"),
        ({"type": "eq", "key": "a", "value": [1]}, "filters.value must be a string"),
        ({"type": "eq", "key": "a", "value": float("nan")}, "filters.value must be a string"),
        ({"type": "eq", "key": "a", "value": 10**400}, "filters.value must be a string"),
        ({"type": "gt", "key": "a", "value": True}, "filters.value must be a number"),
        ({"type": "in", "key": "a", "value": 1}, "filters.value must be a list"),
        ({"type": "in", "key": "a", "value": [1, {}]}, "filters.value[1] must be a string"),
        ({"type": "eq", "key": "a", "value": 1, "not": 1}, "filters.not is unknown"),
        ({"type": "and"}, "filters.filters is missing"),
        ({"type": "and", "filters": []}, "filters.filters must be a list"),
        ({"type": "or", "filters": [{"type": "eq"}]}, "filters.filters[0].key is missing"),
    ],
)
def test_a_wrong_filter_says_where_and_what(given: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(given)
    assert str(caught.value).startswith(message)


def test_a_filter_is_neither_deep_nor_large() -> None:
    leaf: dict[str, object] = {"type": "eq", "key": "a", "value": 1}
    deep = leaf
    for _ in range(5000):
        deep = {"type": "and", "filters": [deep]}
    wide = {"type": "or", "filters": [leaf] * 10_000}
    long = {"type": "in", "key": "a", "value": ["x"] * 10_000}
    many = {"type": "or", "filters": [{"type": "in", "key": "a", "value": ["x"] * 150}] * 2}
    for it in (deep, wide, long, many):
        with pytest.raises(InvalidInputError, match="shorten it"):
            parse(it)


def test_a_value_that_is_nested_deep_is_refused_as_any_other() -> None:
    value: list[object] = []
    for _ in range(5000):
        value = [value]
    for it in (value, {"type": value}, {"type": "eq", "key": "a", "value": value}):
        with pytest.raises(InvalidInputError, match="not a value of type list"):
            parse(it)
