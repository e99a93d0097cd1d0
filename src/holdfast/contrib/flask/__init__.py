"""Flask: a blocking client, starts in the session of a request, the command line, and routes for a job type."""

from holdfast.contrib.starter import SyncStarter
from holdfast.errors import MissingExtra

try:
    from holdfast.contrib.flask.extension import Holdfast
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "flask":
        raise
    raise MissingExtra("holdfast.contrib.flask", "flask") from error

__all__ = ["Holdfast", "SyncStarter"]
