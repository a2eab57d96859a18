"""A PostgreSQL to try the catalog on, where one is given."""

import os
import secrets
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

VARIABLE = "UNCHUNK_TEST_POSTGRES"


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of an empty schema, which goes again with all that is in it."""
    given = os.environ.get(VARIABLE)
    if not given:
        pytest.skip(f"set {VARIABLE} to the URL of a PostgreSQL database, to try it too")
    url = make_url(given).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    schema = f"unchunk_{secrets.token_hex(8)}"
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
        own = url.update_query_dict({"options": f"-csearch_path={schema}"})
        yield own.render_as_string(hide_password=False)
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()
