"""The plugin that runs handlers in the context of a Flask application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from flask import Flask

from holdfast.registry.plugin import Plugin


class AppContext(Plugin):
    """Each attempt has its own application context, so that `current_app` and scoped sessions work in handlers.

    Its end calls the teardown functions of the application: Flask-SQLAlchemy then removes the session.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        with self._app.app_context():
            return await call_next()
