"""What a database calls things, for those who ask it in plain SQL and for those who do not."""

from typing import Final

HEAD: Final = "0008"
"""The newest migration. Kept here, so that opening need not load Alembic to know it."""

REVISIONS: Final = "catalog_revision"
"""Where Alembic notes how far a database is; not its usual name, which others may use too."""

REVISION: Final = "#revision"
"""The note that counts the changes of what is live."""

SIGNING: Final = "#signing"
"""The note that sessions are signed with. These two are not the caller's, and are told to nobody."""

PENDING: Final = "status = 'pending'"
"""Questions that are being answered, of many that were."""
