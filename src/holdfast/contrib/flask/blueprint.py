"""The routes of one job type as a Flask blueprint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, request

from holdfast.client.sync_client import SyncClient
from holdfast.contrib.web.documents import STREAM_HEADERS, detail, is_json, location, status_document
from holdfast.contrib.web.event_messages import messages_sync
from holdfast.core.job import Chain
from holdfast.errors import PayloadRefused
from holdfast.registry.jobs import AnyJobType

JSON = "application/json"


def job_blueprint(
    client: Callable[[], SyncClient], job_type: AnyJobType, *, prefix: str | None, errors: bool
) -> Blueprint:
    """Start, read, follow and cancel chains of one job type. Chains of other types are not found."""
    name = f"holdfast-{job_type.name}".replace(".", "-")
    views = _Views(client, job_type, errors=errors)
    blueprint = Blueprint(name, __name__, url_prefix=f"/{job_type.name}" if prefix is None else prefix.rstrip("/"))
    blueprint.add_url_rule("", "start", views.start, methods=["POST"])
    blueprint.add_url_rule("/<id>", "status", views.status, methods=["GET"])
    blueprint.add_url_rule("/<id>/events", "events", views.events, methods=["GET"])
    blueprint.add_url_rule("/<id>", "cancel", views.cancel, methods=["DELETE"])
    return blueprint


class _Views:
    def __init__(self, client: Callable[[], SyncClient], job_type: AnyJobType, *, errors: bool) -> None:
        self._client = client
        self._type = job_type
        self._errors = errors

    def start(self) -> Response:
        if not is_json(request.content_type):
            return Response(detail("the content type must be application/json"), 415, mimetype=JSON)
        limit = self._type.signature.limit
        body = request.stream.read(limit + 1)
        if len(body) > limit:
            return Response(detail("the input is too large"), 413, mimetype=JSON)
        try:
            bound = self._type.parse(body)
        except PayloadRefused as refusal:
            return Response(detail(str(refusal)), 422, mimetype=JSON)
        chain = self._client().start(bound)
        return self._answer(chain, 202, {"Location": location(request.path, chain.id)})

    def status(self, id: str) -> Response:
        chain = self._found(id)
        return _not_found() if chain is None else self._answer(chain)

    def events(self, id: str) -> Response:
        chain = self._found(id)
        if chain is None:
            return _not_found()
        stream = messages_sync(self._client(), chain.id, lambda chain: status_document(chain, errors=self._errors))
        return Response(stream, mimetype="text/event-stream", headers=STREAM_HEADERS)

    def cancel(self, id: str) -> Response:
        chain = self._found(id)
        return _not_found() if chain is None else self._answer(self._client().cancel(chain))

    def _found(self, id: str) -> Chain[Any] | None:
        chain = self._client().get(id)
        return chain if chain is not None and chain.type == self._type.name else None

    def _answer(self, chain: Chain[Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
        return Response(status_document(chain, errors=self._errors), status, headers, mimetype=JSON)


def _not_found() -> Response:
    return Response(detail("Not Found"), 404, mimetype=JSON)
