"""What is loaded when it is first used."""

import sys

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


def test_a_room_is_the_module_of_its_name() -> None:
    rows = room("rows")
    assert rows.document_in is sys.modules["unchunk.adapters.catalog.rows"].document_in
