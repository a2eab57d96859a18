"""How the address of a database is shown: with nothing that opens it."""

import pytest

from unchunk.adapters.catalog.connecting import place_of


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:SECRET@h/db",
        "postgresql://h/db?user=u&password=SECRET",
        "postgresql://h/db?sslpassword=SECRET&user=u",
        "postgresql://h/db?passfile=SECRET&PASSWORD=SECRET",
    ],
)
def test_what_opens_a_database_is_hidden_wherever_it_stands(url: str) -> None:
    address, shown = place_of(url)
    assert "SECRET" not in shown
    assert "***" in shown
    assert "SECRET" in address.render_as_string(hide_password=False), "it is needed all the same"


def test_what_opens_nothing_is_shown() -> None:
    assert place_of("postgresql://u@h/db?sslmode=require")[1].endswith("u@h/db?sslmode=require")
