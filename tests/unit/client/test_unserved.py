"""Which due jobs wait for a worker."""

import json
from datetime import UTC, datetime, timedelta

from holdfast.client.unserved import external_types, for_workers, without_external
from holdfast.core.clock import SECOND, to_micros
from holdfast.core.worker_record import LiveWorker, WorkerRecord
from holdfast.engine.operations import Finding, TypeStats
from holdfast.stores.late_jobs import oldest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_type_is_external_if_only_declarations_of_it_are_live() -> None:
    declares = _worker("pay", external=("approve", "ship"))
    drains = _worker("ship", draining=True)

    assert external_types([declares]) == {"approve", "ship"}
    assert external_types([declares, drains], ["pay", "sign"]) == {"approve", "sign"}


def test_only_types_that_a_worker_may_claim_are_for_workers() -> None:
    types = {"approve": _stats("approve", 5), "pay": _stats("pay", 5), "ship": _stats("ship", 5, paused=True)}

    assert list(for_workers(types, {"approve"})) == ["pay"]


def test_the_oldest_due_job_is_one_that_waits_for_a_worker() -> None:
    types = {"approve": _stats("approve", 900), "pay": _stats("pay", 20)}
    integrity, found = Finding("ok", "integrity", "fine"), oldest("approve", 900 * SECOND)

    assert without_external([integrity, found], types, {"approve"}, NOW) == [integrity, oldest("pay", 20 * SECOND)]
    assert without_external([found], {"approve": types["approve"]}, {"approve"}, NOW) == [oldest(None, None)]
    assert without_external([found], types, {"sign"}, NOW) == [found]


def _worker(*types: str, external: tuple[str, ...] = (), draining: bool = False) -> LiveWorker:
    details = json.dumps({"external": external})
    return LiveWorker(WorkerRecord("w", "host", 1, types, 1, details=details, draining=draining))


def _stats(name: str, seconds: int, *, paused: bool = False) -> TypeStats:
    return TypeStats(name, {}, 1, 0, to_micros(NOW - timedelta(seconds=seconds)), paused)
