"""A chain as a JSON document for the caller of a web application, and its events as server-sent messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from holdfast.core.job import Chain
from holdfast.core.record import Status
from holdfast.engine.events import Event

STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_encode = msgspec.json.Encoder().encode


def status_document(chain: Chain[Any], *, errors: bool) -> bytes:
    """The status of a chain in JSON. The output is part of it once the chain is completed.

    Errors of handlers may contain internal details, so they are included only with `errors`.
    """
    job = chain.job
    document: dict[str, Any] = {
        "id": chain.id,
        "type": chain.type,
        "status": str(chain.status),
        "attempt": job.attempt,
        "progress": job.progress,
        "progress_note": job.progress_note,
        "created_at": _iso(chain.created_at),
        "scheduled_at": _iso(chain.scheduled_at),
        "finished_at": _iso(chain.finished_at),
    }
    if chain.status is Status.COMPLETED and job.record.output is not None:
        document["output"] = msgspec.Raw(job.record.output)
    if errors:
        document["error"] = None if chain.error is None else str(chain.error)
    return _encode(document)


def message(name: str, data: bytes) -> bytes:
    """A server-sent message. JSON has no line breaks, so the data is one line."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def event_message(event: Event) -> bytes:
    """An event as a server-sent message. Events contain no payload."""
    document = {
        "kind": event.kind,
        "at": _iso(event.at),
        "job_id": event.job_id,
        "type": event.type,
        "attempt": event.attempt,
    }
    return message(event.kind, _encode(document))


def detail(text: str) -> bytes:
    """The body of an error."""
    return _encode({"detail": text})


def is_json(content_type: str | None) -> bool:
    """Whether a request declares a JSON body. Browsers send forms of other sites, but not JSON, without asking."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def location(path: str, chain_id: str) -> str:
    """The address of a chain below the path of its job type."""
    return f"{path.rstrip('/')}/{quote(chain_id, safe='')}"


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
