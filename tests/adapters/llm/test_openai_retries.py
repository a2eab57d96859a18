"""When a provider is asked again, over real HTTP."""

import asyncio
import time
from typing import Any

import pytest

from adapters.llm.asking import ASKED, HASTY, WHOLE, ask, model_at, read, run, text
from adapters.llm.scripted import ScriptedModel, answer, error, hang, hang_amid, piece, refuse
from servers import free_ports
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.adapters.llm.patience import Patience
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Delta, Sampling


def test_a_rush_is_waited_for_as_long_as_it_asks(server: ScriptedModel) -> None:
    began = time.monotonic()
    deltas = ask(server, refuse(429, error("slow down"), retry_after="1"), answer())
    assert text(deltas) == WHOLE
    assert time.monotonic() - began >= 1


def test_a_rush_of_hours_is_not_waited_for_but_told(server: ScriptedModel) -> None:
    began = time.monotonic()
    with pytest.raises(ProviderUnavailableError, match=r"429.*slow down") as raised:
        ask(server, refuse(429, error("slow down"), retry_after="7200"))
    assert raised.value.retry_after == 7200
    assert time.monotonic() - began < 60
    assert len(server.asked) == 1


def test_a_wait_longer_than_anybody_sits_there_is_not_begun(server: ScriptedModel) -> None:
    patience = Patience(deadline=60, longest_wait=1)
    with pytest.raises(ProviderUnavailableError) as raised:
        ask(server, refuse(429, error("later"), retry_after="3"), answer(), patience=patience)
    assert raised.value.retry_after == 3


def test_waits_that_would_outlast_the_deadline_are_not_begun(server: ScriptedModel) -> None:
    patience = Patience(deadline=0.5, retries=9)
    with pytest.raises(ProviderUnavailableError):
        ask(server, *[refuse(503, error("soon"), retry_after="1")] * 9, patience=patience)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_failure_that_may_pass_is_tried_again(server: ScriptedModel, status: int) -> None:
    assert text(ask(server, refuse(status, error("oops")), answer())) == WHOLE
    assert len(server.asked) == 2


def test_a_failure_that_does_not_pass_is_told_in_the_end(server: ScriptedModel) -> None:
    with pytest.raises(ProviderUnavailableError, match="answered 500: out of order"):
        ask(server, name="fail")
    assert len(server.asked) == 1 + HASTY.retries


def test_a_provider_that_hangs_before_the_first_byte_is_left(server: ScriptedModel) -> None:
    patience = Patience(begin=1, retries=1, deadline=60, first_wait=0.01)
    with pytest.raises(ProviderUnavailableError, match=r"did not begin to answer for 1 s"):
        ask(server, name="hang", patience=patience)
    assert len(server.asked) == 2
    assert server.settled(lambda: server.aborted == 2 and server.open == 0)


def test_headers_are_no_beginning(server: ScriptedModel) -> None:
    async def only_headers(exchange: Any) -> None:  # noqa: ANN401
        await exchange.begin()
        await hang(exchange)

    patience = Patience(begin=1, retries=1, deadline=60, first_wait=0.01)
    assert text(ask(server, only_headers, answer(), patience=patience)) == WHOLE
    assert server.settled(lambda: server.aborted == 1)


def test_all_attempts_together_have_an_end(server: ScriptedModel) -> None:
    began = time.monotonic()
    with pytest.raises(ProviderUnavailableError):
        ask(server, name="hang", patience=Patience(begin=60, retries=9, deadline=0.3))
    assert time.monotonic() - began < 30


def test_a_provider_that_hangs_amid_an_answer_is_left(server: ScriptedModel) -> None:
    with pytest.raises(ProviderUnavailableError, match=r"said nothing more for 0.2 s"):
        ask(server, hang_amid, patience=Patience(idle=0.2))
    assert server.settled(lambda: server.aborted == 1 and server.open == 0)


def test_signs_of_life_are_no_pieces(server: ScriptedModel) -> None:
    async def heartbeat(exchange: Any) -> None:  # noqa: ANN401
        await exchange.begin()
        await exchange.event(piece("So"))
        while True:
            await exchange.send(b": still here\n\n")
            await asyncio.sleep(0.02)

    with pytest.raises(ProviderUnavailableError, match="said nothing more"):
        ask(server, heartbeat, patience=Patience(idle=0.2))


def test_a_reader_that_takes_its_time_is_no_silence(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> str:
        got = ""
        async with model.stream(ASKED, Sampling()) as deltas:
            async for delta in deltas:
                await asyncio.sleep(0.6)
                got += delta.text
        return got

    assert run(scene, model_at(server, "m", Patience(idle=0.5))) == WHOLE


def test_counts_that_never_come_do_not_hold_up_the_end(
    server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lingering(exchange: Any) -> None:  # noqa: ANN401
        await exchange.begin()
        await exchange.event(piece("So", "stop"))
        await hang(exchange)

    monkeypatch.setattr("unchunk.adapters.llm.answers._TRAILING", 0.1)
    assert ask(server, lingering) == [Delta("So", "stop")]


def test_nobody_at_the_address(server: ScriptedModel) -> None:
    server.url = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(ProviderUnavailableError, match=r"no answer from http://127\.0\.0\.1"):
        ask(server)


def test_a_server_that_does_not_know_stream_options_answers_without(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> list[str]:
        return [text(await read(model)) for _ in range(2)]

    assert run(scene, model_at(server, "no-stream-options")) == [WHOLE, WHOLE]
    assert ["stream_options" in each.body for each in server.asked] == [True, False, False]


def test_a_server_that_does_not_say_what_it_did_not_know_is_asked_once_without(
    server: ScriptedModel,
) -> None:
    assert text(ask(server, refuse(400, b"Bad Request"), answer())) == WHOLE
    with pytest.raises(ProviderRefusedError, match="answered 400: Bad Request"):
        ask(server, refuse(400, b"Bad Request"), refuse(400, b"Bad Request"))
    assert len(server.asked) == 4


def test_what_worked_once_is_not_left_out_later(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        await read(model)
        server.script.append(refuse(400, error("no such role")))
        with pytest.raises(ProviderRefusedError, match="no such role"):
            await read(model)

    run(scene, model_at(server))
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("name", "sent", "taken"),
    [
        ("no-max-tokens", "max_tokens", "max_completion_tokens"),
        ("m", "max_tokens", "max_tokens"),
        ("o3-mini", "max_completion_tokens", "max_completion_tokens"),
        ("openai/gpt-5-mini", "max_completion_tokens", "max_completion_tokens"),
    ],
)
def test_the_most_tokens_are_named_as_the_provider_wants(
    server: ScriptedModel, name: str, sent: str, taken: str
) -> None:
    async def scene(model: OpenAIChatModel) -> list[str]:
        return [text(await read(model, Sampling(max_tokens=2))) for _ in range(2)]

    assert run(scene, model_at(server, name)) == ["The pilot", "The pilot"]
    assert server.asked[0].body[sent] == 2
    assert server.asked[-1].body[taken] == 2
    assert len(server.asked) == 2 + (sent != taken)


def test_a_number_of_tokens_that_is_too_large_is_not_tried_by_another_name(
    server: ScriptedModel,
) -> None:
    said = "max_tokens is too large: 9. This model's maximum context length is 8 tokens."
    with pytest.raises(ProviderRefusedError, match="too large"):
        ask(server, refuse(400, error(said)), sampling=Sampling(max_tokens=9))
    assert len(server.asked) == 1
