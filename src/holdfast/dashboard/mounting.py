"""The path under which the dashboard is mounted, for frameworks and proxies that remove it without reporting it."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class MountedAt:
    """ASGI middleware: adds the path `root_path`, unless the server or framework has named it already."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root = "/" + root_path.strip("/") if root_path.strip("/") else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._root and not scope.get("root_path", "").endswith(self._root):
            path: str = scope["path"]
            below = path.removeprefix(self._root) if f"{path}/".startswith(f"{self._root}/") else path
            # Litestar adds a slash to the path of a mounted application.
            below = "/" + below.strip("/")
            scope = {**scope, "root_path": self._root, "path": self._root + below}
        await self._app(scope, receive, send)
