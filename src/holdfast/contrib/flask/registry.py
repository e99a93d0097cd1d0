"""The job types of the current Flask application, as commands import them: `holdfast.contrib.flask.registry:jobs`.

In a process that a supervisor started, FLASK_APP names the application, as for the `flask` command.
"""

from __future__ import annotations

import os
from typing import Any

from flask import Flask
from flask.cli import ScriptInfo

from holdfast.registry.jobs import Jobs

_app: Flask | None = None
_jobs: Jobs | None = None


def use(app: Flask) -> None:
    """Set the application of this process."""
    global _app, _jobs
    _app, _jobs = app, None


def __getattr__(name: str) -> Any:
    global _app, _jobs
    if name != "jobs":
        raise AttributeError(name)
    if _jobs is None:
        # Imported here: the extension imports the commands, which import this module.
        from holdfast.contrib.flask.extension import extension_of

        _app = _app or ScriptInfo(os.environ.get("FLASK_APP")).load_app()
        _jobs = extension_of(_app).worker_jobs(_app)
    return _jobs
