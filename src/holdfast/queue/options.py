"""The options of an enqueue, the same for one job and for many, async or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from holdfast.core.job import Chain, Job
from holdfast.core.retry import Seconds
from holdfast.registry.options import OnBlockerFailure, When

After = Iterable[Chain[Any] | Job | str]
"""Jobs to wait for. A str is the id of a job of the same queue, or else the id of a chain."""


class EnqueueKeywords(TypedDict, total=False):
    """What `enqueue` takes besides the id and the payload; None is the queue's default."""

    max_attempts: int | None
    result_ttl: Seconds | None
    dedup_ttl: Seconds | None
    delay: Seconds | None
    replace: bool | None
    debounce: Seconds | None
    debounce_max: Seconds | None
    priority: int | None
    after: After
    on_blocker_failure: OnBlockerFailure | None
    when: When | None


ENQUEUE_KEYWORDS: tuple[str, ...] = tuple(sorted(EnqueueKeywords.__optional_keys__))
