"""The routes of one job type, for FastAPI and for Starlette."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter
from starlette.routing import Route, Router

from holdfast.client.client import Client
from holdfast.contrib.fastapi.endpoints import JobEndpoints
from holdfast.contrib.fastapi.input_schema import input_schema
from holdfast.registry.jobs import AnyJobType


def api_router(
    client: Callable[[], Client], job_type: AnyJobType, *, prefix: str | None, errors: bool, tags: Sequence[str]
) -> APIRouter:
    endpoints, name = JobEndpoints(client, job_type, errors=errors), job_type.name
    router = APIRouter(prefix=_prefix(prefix, job_type), tags=list(tags) or [name])
    body = {"required": True, "content": {"application/json": {"schema": input_schema(job_type)}}}
    path_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}

    def add(path: str, method: str, endpoint: Any, *, what: str, extra: dict[str, Any], status: int = 200) -> None:
        router.add_api_route(
            path, endpoint, methods=[method], status_code=status, name=f"{what} {name}", openapi_extra=extra,
            description=endpoint.__doc__, operation_id=f"{what}_{name}",
        )  # fmt: skip

    add("", "POST", endpoints.start, what="start", extra={"requestBody": body}, status=202)
    add("/{id}", "GET", endpoints.status, what="status", extra={"parameters": [path_id]})
    add("/{id}/events", "GET", endpoints.events, what="events", extra={"parameters": [path_id]})
    add("/{id}", "DELETE", endpoints.cancel, what="cancel", extra={"parameters": [path_id]})
    return router


def starlette_routes(
    client: Callable[[], Client], job_type: AnyJobType, *, prefix: str | None, errors: bool
) -> list[Route]:
    endpoints, path = JobEndpoints(client, job_type, errors=errors), _prefix(prefix, job_type)
    return [
        Route(path or "/", endpoints.start, methods=["POST"]),
        Route(f"{path}/{{id}}", endpoints.status, methods=["GET"]),
        Route(f"{path}/{{id}}/events", endpoints.events, methods=["GET"]),
        Route(f"{path}/{{id}}", endpoints.cancel, methods=["DELETE"]),
    ]


class Mounted:
    """Routes as an ASGI application. They match the whole path of the request, for every kind of mount.

    Starlette removes nothing from the path of a mounted application, and Litestar removes the path of the mount.
    """

    def __init__(self, routes: list[Route]) -> None:
        self._router = Router(routes)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = unquote(scope["raw_path"].partition(b"?")[0].decode())
        await self._router({**scope, "path": path, "root_path": ""}, receive, send)


def _prefix(prefix: str | None, job_type: AnyJobType) -> str:
    return f"/{job_type.name}" if prefix is None else prefix.rstrip("/")
