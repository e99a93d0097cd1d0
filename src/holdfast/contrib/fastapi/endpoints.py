"""The endpoints of one job type, as Starlette calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from holdfast.client.client import Client
from holdfast.contrib.web.documents import STREAM_HEADERS, detail, is_json, location, status_document
from holdfast.contrib.web.event_messages import messages
from holdfast.core.job import Chain
from holdfast.errors import PayloadRefused
from holdfast.registry.jobs import AnyJobType

JSON = "application/json"


class JobEndpoints:
    """Start, read, follow and cancel chains of one job type. Chains of other types are not found."""

    def __init__(self, client: Callable[[], Client], job_type: AnyJobType, *, errors: bool) -> None:
        self._client = client
        self._type = job_type
        self._errors = errors

    async def start(self, request: Request) -> Response:
        """Start a chain. The body is a JSON object with the arguments by name."""
        if not is_json(request.headers.get("content-type")):
            return Response(detail("the content type must be application/json"), 415, media_type=JSON)
        body = await self._body(request)
        if body is None:
            return Response(detail("the input is too large"), 413, media_type=JSON)
        try:
            bound = self._type.parse(body)
        except PayloadRefused as refusal:
            return Response(detail(str(refusal)), 422, media_type=JSON)
        chain = await self._client().start(bound)
        return self._answer(chain, 202, {"Location": location(request.url.path, chain.id)})

    async def status(self, request: Request) -> Response:
        """The status of the chain; its output once it is completed."""
        chain = await self._found(request)
        return _not_found() if chain is None else self._answer(chain)

    async def events(self, request: Request) -> Response:
        """Server-sent events: the status, each event of the chain, and the status at its end."""
        chain = await self._found(request)
        if chain is None:
            return _not_found()
        stream = messages(self._client(), chain.id, lambda chain: status_document(chain, errors=self._errors))
        return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)

    async def cancel(self, request: Request) -> Response:
        """Cancel the chain. A finished chain does not change."""
        chain = await self._found(request)
        return _not_found() if chain is None else self._answer(await self._client().cancel(chain))

    async def _body(self, request: Request) -> bytes | None:
        """The body; None if it is larger than an input may be. The rest is not read then."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self._type.signature.limit:
                return None
        return bytes(body)

    async def _found(self, request: Request) -> Chain[Any] | None:
        chain = await self._client().get(request.path_params["id"])
        return chain if chain is not None and chain.type == self._type.name else None

    def _answer(self, chain: Chain[Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
        return Response(status_document(chain, errors=self._errors), status, headers, JSON)


def _not_found() -> Response:
    return Response(detail("Not Found"), 404, media_type=JSON)
