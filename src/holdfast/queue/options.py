"""What an enqueue may say about its job, the same for one and for many, awaited or not."""

from __future__ import annotations

from typing import TypedDict

from holdfast.core.retry import Seconds


class EnqueueKeywords(TypedDict, total=False):
    """What `enqueue` takes besides the id and the payload; None is the queue's default."""

    max_attempts: int | None
    result_ttl: Seconds | None
    delay: Seconds | None
    priority: int | None


ENQUEUE_KEYWORDS: tuple[str, ...] = tuple(sorted(EnqueueKeywords.__optional_keys__))
