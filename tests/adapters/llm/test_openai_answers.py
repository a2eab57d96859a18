"""Answers as they come over real HTTP: those that are fine and those that are not."""

import time
from typing import Any

import pytest

from adapters.llm.asking import ASKED, WHOLE, ask, model_at, read, run, text
from adapters.llm.scripted import (
    WORDS,
    ScriptedModel,
    answer,
    cut,
    error,
    events,
    fail_amid,
    malformed,
    page,
    piece,
    refuse,
)
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Delta, Sampling, TokenUsage


def test_an_answer_comes_piece_by_piece_with_its_end_and_its_counts(server: ScriptedModel) -> None:
    deltas = ask(server)
    assert deltas[:-2] == [Delta(word) for word in WORDS]
    assert deltas[-2:] == [Delta(finish="stop"), Delta(usage=TokenUsage(8, 8))]
    assert server.settled(lambda: server.finished == 1)


def test_pieces_come_when_they_are_sent_and_not_at_the_end(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> list[float]:
        async with model.stream(ASKED, Sampling()) as deltas:
            return [time.monotonic() async for delta in deltas if delta.text]

    server.script.append(answer(pause=0.05))
    times = run(scene, model_at(server))
    assert times[-1] - times[0] > 0.25


def test_what_carries_no_text_is_passed_over(server: ScriptedModel) -> None:
    filtered: dict[str, Any] = {"index": 0, "finish_reason": None, "content_filter_results": {}}
    thought = piece()
    thought["choices"][0]["delta"] = {"content": None, "reasoning_content": "Hmm."}
    sent = [
        b": a comment\n\n",
        b"event: ping\n\n",
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        {"choices": [filtered]},
        piece("", role="assistant"),
        thought,
        piece("Fine."),
        piece(finish="stop", usage={"prompt_tokens": 1, "completion_tokens": 2}),
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    ]
    deltas = ask(server, events(*sent))
    assert deltas == [Delta("Fine."), Delta(finish="stop"), Delta(usage=TokenUsage(7, 2))]


def test_events_may_be_cut_anywhere_and_end_their_lines_as_they_like(server: ScriptedModel) -> None:
    one = b'data: {"choices":\r\ndata: [{"delta": {"content": "\xc3\xa4\xe2\x80\xa8"}}]}\r\n\r\n'
    pieces = [one[at : at + 1] for at in range(len(one))]
    deltas = ask(server, events(*pieces, piece(finish="stop")))
    assert text(deltas) == "ä\u2028"


def test_a_refusal_in_words_is_an_answer(server: ScriptedModel) -> None:
    refusal = piece()
    refusal["choices"][0]["delta"] = {"refusal": "I can't help with that."}
    assert text(ask(server, events(refusal, piece(finish="stop")))) == "I can't help with that."


def test_an_answer_that_was_filtered_says_so(server: ScriptedModel) -> None:
    deltas = ask(server, events(piece("Well"), piece(finish="content_filter")))
    assert deltas == [Delta("Well"), Delta(finish="filtered")]


def test_an_answer_may_end_without_saying_done(server: ScriptedModel) -> None:
    deltas = ask(server, events(piece("So"), piece(finish="stop"), done=False))
    assert deltas == [Delta("So"), Delta(finish="stop")]


def test_an_answer_may_end_with_nothing_but_done(server: ScriptedModel) -> None:
    assert ask(server, events(piece("So"))) == [Delta("So")]
    assert ask(server, events()) == []


def test_what_follows_the_end_is_not_part_of_it(server: ScriptedModel) -> None:
    end = b"data: [DONE]\n\n"
    deltas = ask(server, events(piece("So", "stop"), end, b": bye\n\n", piece("?"), done=False))
    assert deltas == [Delta("So", "stop")]


def test_a_connection_is_used_again(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        for _ in range(3):
            await read(model)

    run(scene, model_at(server))
    assert server.connections == 1


def test_an_answer_that_breaks_off_is_cut_off(server: ScriptedModel) -> None:
    with pytest.raises(ProviderUnavailableError, match="was cut off"):
        ask(server, cut)
    assert len(server.asked) == 1  # it had begun: nothing is tried again


def test_an_answer_that_just_ends_is_cut_off(server: ScriptedModel) -> None:
    with pytest.raises(ProviderUnavailableError, match="was cut off: it just ended"):
        ask(server, events(piece("So"), done=False, connection="close"))
    with pytest.raises(ProviderUnavailableError, match="was cut off: it just ended"):
        ask(server, events(piece("So"), done=False))


def test_pieces_before_the_cut_are_not_lost(server: ScriptedModel) -> None:
    got: list[Delta] = []

    async def scene(model: OpenAIChatModel) -> None:
        async with model.stream(ASKED, Sampling()) as deltas:
            async for delta in deltas:
                got.append(delta)  # noqa: PERF401 -- a comprehension would lose them

    server.script.append(cut)
    with pytest.raises(ProviderUnavailableError):
        run(scene, model_at(server))
    assert text(got) == "".join(WORDS[:3])


@pytest.mark.parametrize(
    "sent",
    [
        '{"choices": [{"delta":',
        "not JSON",
        "[1]",
        '"text"',
        "null",
        {},
        {"choices": None},
        {"choices": {"0": {}}},
        {"choices": ["text"]},
        {"choices": [{"index": 0, "finish_reason": None}]},
        {"choices": [{"delta": "text"}]},
        {"choices": [{"delta": {"content": 7}}]},
        {"choices": [{"delta": {"content": ["a"]}}]},
        {"choices": [{"delta": {}, "finish_reason": 7}]},
        "[" * 100_000,
        b"data: \xff\xfe\n\n",
    ],
    ids=lambda sent: str(sent)[:40],
)
def test_a_piece_that_cannot_be_understood_is_never_passed_over(
    server: ScriptedModel, sent: object
) -> None:
    for before in ([], [piece("So")]):
        with pytest.raises(ProviderRefusedError, match="cannot be read"):
            ask(server, events(*before, sent, piece(finish="stop")))


@pytest.mark.parametrize("usage", ["many", {"prompt_tokens": "many"}, {"prompt_tokens": -1}])
def test_counts_that_mean_nothing_do_not_spoil_an_answer(
    server: ScriptedModel, usage: object
) -> None:
    deltas = ask(server, events(piece("So"), piece(finish="stop", usage=usage)))
    assert deltas == [Delta("So"), Delta(finish="stop")]


def test_of_several_answers_the_first_one_counts(server: ScriptedModel) -> None:
    second = {"index": 1, "delta": {"content": "No"}, "finish_reason": None}
    sent = piece("Yes")
    sent["choices"].insert(0, second)
    assert ask(server, events(sent, piece(finish="stop")))[0] == Delta("Yes")


def test_a_malformed_piece_amid_an_answer_is_an_error(server: ScriptedModel) -> None:
    with pytest.raises(ProviderRefusedError, match="cannot be read"):
        ask(server, malformed)


def test_a_line_that_never_ends_is_given_up(server: ScriptedModel) -> None:
    with pytest.raises(ProviderRefusedError, match="does not end"):
        ask(server, events(*[b"x" * (1 << 20)] * 9))


def test_a_web_page_is_no_answer(server: ScriptedModel) -> None:
    for behaviour in (page(), refuse(200, b"<html>\n<p>Hello\n", content_type="text/plain")):
        with pytest.raises(ProviderRefusedError, match=r"cannot be read.*check that this URL"):
            ask(server, behaviour)
    assert len(server.asked) == 2


def test_an_error_amid_an_answer_is_an_error(server: ScriptedModel) -> None:
    with pytest.raises(ProviderUnavailableError, match=r"broke off.*the model fell over"):
        ask(server, fail_amid)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (error("too much", code=400), ProviderRefusedError),
        (error("this model's maximum context length is 8"), ProviderRefusedError),
        (error("no", type="invalid_request_error"), ProviderRefusedError),
        (error("upstream", code=502), ProviderUnavailableError),
        (error("quiet", code=None), ProviderUnavailableError),
        ({"error": "just so"}, ProviderUnavailableError),
        ({"error": {"type": "x"}}, ProviderUnavailableError),
    ],
)
def test_an_error_amid_an_answer_is_told_by_its_kind(
    server: ScriptedModel, given: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        ask(server, events(piece("So"), given))


def test_an_error_in_place_of_the_first_piece_is_tried_again(server: ScriptedModel) -> None:
    assert text(ask(server, events(error("overloaded", code=503)), answer())) == WHOLE
    assert len(server.asked) == 2


def test_an_empty_answer_without_an_end_is_tried_again(server: ScriptedModel) -> None:
    assert text(ask(server, events(done=False), answer())) == WHOLE
