"""One or more operations for each verb, on jobs in a suitable status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.record import Claim, Record, Status
from holdfast.engine import operations as ops
from holdfast.engine.operations import Completion, Operation, TypeTerms
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.clock import ManualClock

TERMS = (TypeTerms("resize", 30_000_000, 25),)
MANY = 150
"""More than one script handles."""
CHILDREN = tuple(f"child-{number:03}" for number in range(MANY))
OTHERS = tuple(f"other-{number:03}" for number in range(MANY))
NAMES = ("failed", "running", "pending", "spent", "blocker", "new", "newer", "side", "next", "due", *CHILDREN, *OTHERS)

Build = Callable[[Record, Record], Operation[Any]]

# Each gets a running job, and a job that a hundred and fifty others wait for.
WRITING: dict[str, tuple[str, Build]] = {
    "start": ("start", lambda _, __: ops.Start((new_job(id="new", key="k"), new_job(id="newer", after=("new",))))),
    "start with found": ("start", lambda _, __: ops.Start((new_job(id="new"), new_job(id="newer", key="taken")))),
    "claim": ("claim", lambda _, __: ops.ClaimJobs((TypeTerms("other", 1, 1), *TERMS), 5, "worker", "token")),
    "renew": ("renew", lambda running, _: ops.Renew(((running.claim, 5_000_000),))),
    "progress": ("progress", lambda running, _: ops.ReportProgress(running.claim, 0.5, "half")),
    "settle": ("settle", lambda running, _: ops.Settle((completed(running, starts=(new_job(id="side"),)),))),
    "settle as failed": ("settle", lambda running, _: ops.Settle((failed(running),))),
    "settle with continuation": (
        "settle",
        lambda running, _: ops.Settle((continued(running, next_job(running, id="next")),)),
    ),
    "settle with many dependents": ("settle", lambda _, blocker: ops.Settle((completed(blocker),))),
    "release": ("release", lambda _, blocker: ops.Settle((completed(blocker),))),
    "reap": ("reap", lambda _, __: ops.Reap(("resize",), (), 10)),
    "complete": (
        "complete",
        lambda _, __: ops.Complete("running", "running", (Completion(output=b"1"),), (new_job(id="side"),), ("side",)),
    ),
    "cancel": ("cancel", lambda _, __: ops.Cancel(("running", "pending", "blocker"))),
    "cancel very many": ("cancel", lambda _, __: ops.Cancel(OTHERS)),
    "retry": ("retry", lambda _, __: ops.RetryJobs(("failed",))),
    "run now": ("run_now", lambda _, __: ops.RunNow(("pending",))),
    "delete": ("delete", lambda _, __: ops.Delete(("running", "pending"))),
    "delete very many": ("remove", lambda _, __: ops.Delete(OTHERS)),
    "pause": ("pause", lambda _, __: ops.Pause(("resize",))),
    "resume": ("resume", lambda _, __: ops.Resume(("paused",))),
    "keep": ("keep", lambda _, __: ops.Keep(("failed",), 5)),
    "prune": ("prune", lambda _, __: ops.Prune(10)),
    "listen": ("listen", lambda _, __: ops.Listen("listener", 60_000_000)),
    "unlisten": ("unlisten", lambda _, __: ops.Unlisten("absent")),
}
"""Per case: the script that performs it, and a function that builds the operation."""

READING: tuple[Operation[Any], ...] = (
    ops.Preview((new_job(id="newest", key="taken", after=("pending",)),)),
    ops.Guard(Claim("running", "before-3")),
    ops.LockChain("pending"),
    ops.GetChains(("pending", "none")),
    ops.GetJobs(("pending", "none")),
    ops.GetBlockers(CHILDREN[0]),
    ops.GetHistory("failed"),
    ops.ListJobs(ops.Filter(types=("none",)), 10),
    ops.ListJobs(ops.Filter(chain_id="pending"), 10),
    ops.ListJobs(ops.Filter(statuses=(Status.RUNNING,)), 10),
    ops.ListChains(ops.Filter(statuses=(Status.RUNNING,)), 10),
    ops.ListChains(ops.Filter(types=("resize",), key="taken"), 10),
    ops.GetStats(),
    ops.GetWaiting(10),
    ops.NextDue(("resize",)),
    ops.ReadEvents(0, 10),
)


def prepared(store: RedisStore, clock: ManualClock) -> tuple[Record, Record]:
    """Create jobs in every status. Returns a running job, and a job with many dependents."""
    store.perform_sync(ops.Listen("test", 3_600_000_000))
    store.perform_sync(ops.Pause(("paused",)))
    store.perform_sync(ops.Start((new_job(id="spent", keep=0),)))
    (spent,) = _claim(store, 1)
    store.perform_sync(ops.Settle((completed(spent),)))
    store.perform_sync(ops.Start((new_job(id="failed"), new_job(id="running"), new_job(id="blocker"))))
    broken, running, blocker = _claim(store, 3)
    store.perform_sync(ops.Settle((failed(broken),)))
    store.perform_sync(
        ops.Start((new_job(id="pending", delay=60), new_job(id="taken", key="taken"), new_job(id="due")))
    )
    store.perform_sync(ops.Start(tuple(new_job("child", id=id, after=("blocker",)) for id in CHILDREN)))
    store.perform_sync(ops.Start(tuple(new_job("other", id=id) for id in OTHERS)))
    clock.advance(1)
    return running, blocker


def _claim(store: RedisStore, limit: int) -> list[Record]:
    return store.perform_sync(ops.ClaimJobs(TERMS, limit, "worker", f"before-{limit}"))
