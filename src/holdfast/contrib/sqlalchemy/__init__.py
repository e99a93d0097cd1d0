"""SQLAlchemy and SQLModel: starts in the transactions of sessions. `.alembic` contains the support of Alembic."""

from holdfast.contrib.starter import Starter, SyncStarter
from holdfast.errors import MissingExtra

try:
    from holdfast.contrib.sqlalchemy.sessions import attach, starter
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "sqlalchemy":
        raise
    raise MissingExtra("holdfast.contrib.sqlalchemy", "sqlalchemy") from error

__all__ = ["Starter", "SyncStarter", "attach", "starter"]
