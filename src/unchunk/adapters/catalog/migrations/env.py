"""What Alembic runs for every command; the connection comes from `upgrade.py`."""

from alembic import context

from unchunk.adapters.catalog.terms import REVISIONS

context.configure(connection=context.config.attributes["connection"], version_table=REVISIONS)
with context.begin_transaction():
    context.run_migrations()
