"""Static files: read once, compressed once, and cached by browsers forever, because their URLs contain a hash."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent."""

    path: str
    """Its URL below the dashboard."""
    media: str
    content: bytes
    compressed: bytes


@cache
def static_files() -> Mapping[str, StaticFile]:
    """All static files by name, for example `dashboard.css` and `vendor/htmx.min.js`."""
    return {name: _read(name, file) for name, file in _walk(files("holdfast.dashboard") / "static", "")}


async def serve(request: Request) -> Response:
    """A static file. The hash in the URL must be that of the file, so that no old page is combined with new files."""
    found = static_files().get(request.path_params["name"])
    if found is None or not found.path.startswith(f"/static/{request.path_params['hash']}/"):
        return Response("There is no such file.", 404, media_type="text/plain")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.media)
    return Response(found.content, headers=headers, media_type=found.media)


def _read(name: str, file: Traversable) -> StaticFile:
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:12]
    media = _MEDIA[name[name.rindex(".") :]]
    return StaticFile(f"/static/{digest}/{name}", media, content, gzip.compress(content, 9, mtime=0))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _walk(each, f"{prefix}{each.name}/")
        elif each.name.endswith(tuple(_MEDIA)):
            found.append((f"{prefix}{each.name}", each))
    return found
