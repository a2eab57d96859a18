"""What is loaded when it is first used."""

import sys

import pytest

from unchunk.adapters.catalog.later import later, room


def test_a_thing_is_made_once_and_when_it_is_first_used() -> None:
    made: list[str] = []

    def make() -> str:
        made.append("thing")
        return "thing"

    thing = later(make)
    assert not made
    assert thing.upper() == "THING"
    assert thing.title() == "Thing"
    assert made == ["thing"]


def test_a_room_is_loaded_by_whoever_first_calls_something_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = "unchunk.adapters.catalog.marks"
    monkeypatch.delitem(sys.modules, module, raising=False)
    mark_of = room("marks").mark_of
    assert module not in sys.modules
    assert mark_of("colour", "red") == sys.modules[module].mark_of("colour", "red")
