"""Chunks back into texts: one file, or the files of a store, which tell more together."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidStrategyError, InvalidTextError
from unchunk.text.stitching.inference import Votes, habits, is_round, leanings, votes
from unchunk.text.stitching.seams import Confidence, Stitched
from unchunk.text.stitching.solution import Solution, may_be_under, under, without
from unchunk.text.stitching.verdict import (
    Kept,
    has_size,
    judge,
    keeps_empty_lines,
    kept_space,
)

# How many strategies of other files are tried on one that shows none itself.
_MOST_TRIED = 12

Strategies = ChunkingStrategy | Mapping[str, ChunkingStrategy | None] | None
Starts = bool | Mapping[str, bool | None] | None
Sizes = Mapping[str, int | None]


class _Answer(NamedTuple):
    """A solution, and how sure its strategy is."""

    solution: Solution
    support: Confidence


def stitch(
    chunks: Sequence[str],
    strategy: ChunkingStrategy | None = None,
    *,
    from_start: bool | None = None,
) -> Stitched:
    """Put the chunks of one file together again, each joint with how sure it is.

    With the strategy that made them, a text of token, word or character windows comes back
    exactly; without, it is inferred. `stitch_files` knows more, if there are more files.

    `from_start` tells whether the file begins with the first of these chunks. No chunk shows
    it: left out, it is taken to, unless the text begins as a middle does.
    """
    return stitch_files({"": chunks}, strategy, from_start=from_start)[""]


def stitch_files(
    files: Mapping[str, Sequence[str]],
    strategy: Strategies = None,
    *,
    from_start: Starts = None,
    sizes: Sizes | None = None,
    progress: Callable[[str], object] | None = None,
) -> dict[str, Stitched]:
    """Put the files of a store together; what one leaves open, the others may settle.

    `strategy` is one for all files, or one for each by name; so is `from_start`, as in
    `stitch`. A strategy that a file's chunks contradict is not followed, and another is
    inferred. `sizes` holds how many bytes files had in UTF-8, where that is known: of a text
    that has as many, nothing is missing. `progress` is called with the name of each file that
    is done.
    """
    texts = {name: _texts(name, chunks) for name, chunks in files.items()}
    given = {name: _strategy_of(name, strategy) for name in texts}
    answers = {
        name: answer
        for name, chunks in texts.items()
        if (answer := _as_given(name, chunks, given[name])) is not None
    }
    for name in answers:
        _report(progress, name)
    rest = {name: chunks for name, chunks in texts.items() if chunks and name not in answers}
    guesses = {name: without(chunks, _share(given[name])) for name, chunks in rest.items()}
    seen = {name: votes(guess.chunks, guess.draft) for name, guess in guesses.items()}
    pool = sum(seen.values(), Counter[ChunkingStrategy]())
    pool = Counter({one: count for one, count in pool.items() if count > 1 or is_round(one)})
    for name, guess in guesses.items():
        answers[name] = _inferred(guess, given[name], seen[name], pool)
        _report(progress, name)
    kept = _kept(answers.values())
    results = {}
    for name, chunks in texts.items():
        if not chunks:
            results[name] = Stitched("", (), "none", notes=("there are no chunks",))
            continue
        solution, support = answers[name]
        result = judge(
            solution,
            support,
            kept=kept(solution),
            whole=sizes is not None and has_size(solution, sizes.get(name)),
            from_start=from_start.get(name) if isinstance(from_start, Mapping) else from_start,
        )
        results[name] = _contradicted(result, given[name])
    return results


def _as_given(
    name: str, chunks: Sequence[str], strategy: ChunkingStrategy | None
) -> _Answer | None:
    """The text under the strategy given, unless the chunks contradict it."""
    if strategy is None or not chunks:
        return None
    try:
        solution = under(chunks, strategy)
    except InvalidTextError as error:
        raise InvalidTextError(f"{name}: {error}" if name else str(error)) from None
    return _Answer(solution, "verified") if solution.holds else None


def _inferred(guess: Solution, given: ChunkingStrategy | None, own: Votes, pool: Votes) -> _Answer:
    """The text under the strategy that this file, or else the others, speak for."""
    chunks = guess.chunks
    if len(chunks) == 1:
        return _Answer(guess, "exact")
    if answer := next(_answers(guess, given, own, pool), None):
        return answer
    # Joints that speak for a strategy, or chunks said to have one, which then does not hold:
    # some of the joints may be chance.
    contradicted = given is not None and any(kept_space(guess))
    chance = contradicted or any(count > 1 for count in own.values())
    sure: Confidence = "ambiguous" if chance else "exact"
    if given is not None and (solution := under(chunks, given)).broken < guess.broken:
        return _Answer(_in_input_order(solution, guess), sure)
    return _Answer(guess, sure)


def _answers(
    guess: Solution, given: ChunkingStrategy | None, own: Votes, pool: Votes
) -> Iterator[_Answer]:
    """The texts under the strategies that are spoken for, the likeliest first."""
    chunks = guess.chunks
    others = [one for one, count in pool.most_common(_MOST_TRIED) if count > own[one]]
    # That one short chunk shares nothing with the one before is no reason yet to think that none
    # should: the others may tell.
    doubtful = [one for one, count in own.items() if count == 1 and not one.overlap and others]
    certain = [one for one, _ in own.most_common() if one not in doubtful]
    yield from _own(guess, certain, given, own, pool)
    # A chunk that repeats the one before shares its first letters with it by chance, not by habit.
    usual = () if guess.repeats_last else habits(chunks)
    fitting = [
        solution
        for strategy in (others or usual)
        if may_be_under(chunks, strategy)
        and (solution := under(chunks, strategy)).check == "same"
        and (not solution.broken or not strategy.overlap)
    ]
    if fitting:
        settled = others and len({solution.draft.text for solution in fitting}) == 1
        yield _Answer(_in_input_order(fitting[0], guess), "consensus" if settled else "ambiguous")
    yield from _own(guess, doubtful, given, own, pool)
    for strategy in leanings(chunks, guess.draft):
        solution = under(chunks, strategy)
        if solution.check == "same" or solution.has_gaps:
            yield _Answer(_in_input_order(solution, guess), "ambiguous")


def _own(
    guess: Solution,
    strategies: Iterable[ChunkingStrategy],
    given: ChunkingStrategy | None,
    own: Votes,
    pool: Votes,
) -> Iterator[_Answer]:
    """The texts under strategies that joints of this file speak for, where they hold."""
    for strategy in strategies:
        # One joint alone shows some strategy always; that numbers are round shows it is meant.
        if own[strategy] > 1 or is_round(strategy):
            solution = under(guess.chunks, strategy)
            if solution.holds:
                support = _support(own[strategy], pool[strategy], given)
                yield _Answer(_in_input_order(solution, guess), support)


def _support(own: int, pool: int, given: ChunkingStrategy | None) -> Confidence:
    """How sure a strategy is that `own` joints of a file speak for, of `pool` in the store."""
    if own > 1:
        return "verified" if given is None else "exact"
    if given is not None:
        return "ambiguous"
    return "consensus" if pool > own + 1 else "exact"


def _in_input_order(solution: Solution, guess: Solution) -> Solution:
    """`solution` of the chunks of `guess`, with the positions that those had at first."""
    order = tuple(guess.order[at] for at in solution.order)
    return Solution(solution.chunks, order, solution.draft, solution.strategy, solution.check)


def _kept(answers: Iterable[_Answer]) -> Callable[[Solution], bool]:
    """Whether a file's chunks kept their white space: it shows, or files cut alike show it.

    That others show it is worth nothing where the file itself shows none at any edge: it may
    have come another way. Nor where it gives its chunks again only but for their edges; windows
    of words never have any there.
    """
    shown: dict[ChunkingStrategy, Kept] = {}
    for answer in answers:
        solution = answer.solution
        if solution.strategy and solution.check == "same":
            before = shown.get(
                solution.strategy, Kept(before=False, behind=False, empty_lines=False)
            )
            shown[solution.strategy] = before | kept_space(solution)

    def kept(solution: Solution) -> bool:
        own = kept_space(solution)
        is_bare = solution.strategy is not None and solution.strategy.unit == "words"
        if is_bare or solution.check == "stripped" or not (own.before or own.behind):
            return False
        if solution.check == "same" and solution.strategy in shown:
            own |= shown[solution.strategy]
        return own.before and own.behind and (own.empty_lines or keeps_empty_lines(solution))

    return kept


def _contradicted(result: Stitched, given: ChunkingStrategy | None) -> Stitched:
    """The result, with a note where the chunks do not fit the strategy that was given."""
    if given is None or result.strategy == given:
        return result
    note = f"the chunks do not fit the strategy that was given, {given}: some may be missing"
    return replace(result, notes=(*result.notes, note))


def _texts(name: str, chunks: Sequence[str]) -> list[str]:
    where = f" of {name!r}" if name else ""
    if isinstance(chunks, str | bytes) or not isinstance(chunks, Iterable):
        raise InvalidTextError(f"the chunks{where} are one {type(chunks).__name__}, not a list")
    texts = list(chunks)
    for at, chunk in enumerate(texts):
        if not isinstance(chunk, str):
            raise InvalidTextError(f"chunk {at}{where} is {type(chunk).__name__}, not text")
    return texts


def _strategy_of(name: str, strategy: Strategies) -> ChunkingStrategy | None:
    found = strategy.get(name) if isinstance(strategy, Mapping) else strategy
    if found is not None and not isinstance(found, ChunkingStrategy):
        raise InvalidStrategyError(
            f"{found!r} is not a ChunkingStrategy: use one such as"
            " ChunkingStrategy('words', 320, 80)"
        )
    return found


def _share(strategy: ChunkingStrategy | None) -> float | None:
    return strategy.stride / strategy.size if strategy else None


def _report(progress: Callable[[str], object] | None, name: str) -> None:
    if progress is not None:
        progress(name)
