"""One or more operations for each verb, on jobs in a suitable status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.record import Claim, Record, Status
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine import operations as ops
from holdfast.engine.operations import Completion, Operation, TypeTerms
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.verbs.limits import HeldOrders
from holdfast.testing.builders import (
    checkpoint,
    completed,
    continued,
    failed,
    new_job,
    next_job,
    receive_of,
    sleep_for,
    suspended,
)
from holdfast.testing.clock import ManualClock
from holdfast.testing.lanes import order, with_lanes

TERMS = (TypeTerms("resize", 30_000_000, 25),)
MANY = 150
"""More than one script handles."""
CHILDREN = tuple(f"child-{number:03}" for number in range(MANY))
OTHERS = tuple(f"other-{number:03}" for number in range(MANY))
SINGLE = ("failed", "running", "pending", "spent", "blocker", "new", "newer", "side", "next", "due", "suspended")
NAMES = (*SINGLE, *CHILDREN, *OTHERS)

AUDIT = ops.Audit("operator", "a reason")

Build = Callable[[Record, Record], Operation[Any]]

# Each gets a running job, and a job that a hundred and fifty others wait for.
WRITING: dict[str, tuple[str, Build]] = {
    "start": ("start", lambda _, __: ops.Start((new_job(id="new", key="k"), new_job(id="newer", after=("new",))))),
    "start with found": ("start", lambda _, __: ops.Start((new_job(id="new"), new_job(id="newer", key="taken")))),
    "claim": ("claim", lambda _, __: ops.ClaimJobs((TypeTerms("other", 1, 1), *TERMS), 5, "worker", "token")),
    "renew": ("renew", lambda running, _: ops.Renew(((running.claim, 5_000_000),))),
    "save_logs": ("save_logs", lambda running, _: ops.SaveLogs((ops.AttemptLog(running.claim, b"text"),))),
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
    "cancel": ("cancel", lambda _, __: ops.CancelChains(("running", "pending", "blocker"), audit=AUDIT)),
    "cancel very many": ("cancel", lambda _, __: ops.CancelChains(OTHERS, audit=AUDIT)),
    "retry": ("retry", lambda _, __: ops.RetryJobs(("failed",), audit=AUDIT)),
    "run now": ("run_now", lambda _, __: ops.RunNow(("pending",), audit=AUDIT)),
    "delete": ("delete", lambda _, __: ops.Delete(("running", "pending"), audit=AUDIT)),
    "delete very many": ("remove", lambda _, __: ops.Delete(OTHERS, audit=AUDIT)),
    "pause": ("pause", lambda _, __: ops.Pause(("resize",), audit=AUDIT)),
    "resume": ("resume", lambda _, __: ops.Resume(("paused",), audit=AUDIT)),
    "keep": ("keep", lambda _, __: ops.Keep(("failed",), 5)),
    "prune": ("prune", lambda _, __: ops.Prune(10)),
    "listen": ("listen", lambda _, __: ops.Listen("listener", 60_000_000)),
    "report worker": (
        "report_worker",
        lambda _, __: ops.ReportWorker(WorkerRecord("new", "server", 1, ("resize",), 5)),
    ),
    "remove worker": ("remove_worker", lambda _, __: ops.RemoveWorker("worker", 0)),
    "drain worker": ("drain_worker", lambda _, __: ops.DrainWorker("worker")),
    "change schedule": (
        "change_schedule",
        lambda _, __: ops.ChangeSchedule("nightly", "v1", "v2", "resize", b"body", 1, (new_job(id="side"),)),
    ),
    "declare limits": (
        "declare_limits",
        lambda _, __: ops.DeclareLimits((ops.LimitDeclaration("gpu", "limit", 3),)),
    ),
    "set limit": ("set_limit", lambda _, __: ops.SetLimit("gpu", 5)),
    "wake lanes": ("wake_lanes", lambda _, __: ops.SetLimit("gpu", 5)),
    "skip": ("skip", lambda _, __: ops.SkipJobs(("held",))),
    "save steps": ("save_steps", lambda running, _: ops.SaveSteps((checkpoint(running, "charge"),))),
    "settle as suspended": ("settle", lambda running, _: ops.Settle((suspended(running, receive_of("label")),))),
    "send": ("send", lambda _, __: ops.SendMessage("suspended", "label", b"1")),
    "retry from a step": ("retry", lambda _, __: ops.RetryJobs(("failed",), from_step="charge")),
    "run now after a sleep": ("run_now", lambda _, __: ops.RunNow(("suspended",))),
    "unlisten": ("unlisten", lambda _, __: ops.Unlisten("absent")),
}
"""Per case: the script that performs it, and a function that builds the operation."""

READING: tuple[Operation[Any], ...] = (
    ops.PreviewStart((new_job(id="newest", key="taken", after=("pending",)),)),
    ops.Guard(Claim("running", "before-3")),
    ops.LockChain("pending"),
    ops.GetChains(("pending", "none")),
    ops.GetJobs(("pending", "none")),
    ops.GetBlockers((CHILDREN[0],)),
    ops.GetDependents("blocker", 10),
    ops.GetStarted(("blocker", "none"), 10),
    ops.GetHistory("failed"),
    ops.ListJobs(ops.Filter(types=("none",)), 10),
    ops.ListJobs(ops.Filter(chain_id="pending"), 10),
    ops.ListJobs(ops.Filter(statuses=(Status.RUNNING,)), 10),
    ops.ListChains(ops.Filter(statuses=(Status.RUNNING,)), 10),
    ops.ListChains(ops.Filter(types=("resize",), key="taken"), 10),
    ops.GetStats(),
    ops.GetCounters(),
    ops.GetErrors(),
    ops.GetWaiting(10),
    ops.NextDue(("resize",)),
    ops.ReadEvents(0, 10),
    ops.GetWorkers(),
    ops.GetAudit(10, ("pending",)),
    ops.Explain("pending"),
    ops.Explain(CHILDREN[0]),
    ops.GetSchedules(),
    ops.DueSchedules(("resize",), 10),
    ops.GetLimits(),
    ops.GetLanes((order(),)),
    HeldOrders(("held",)),
    ops.GetSteps(("failed", "none")),
    ops.GetMessages((("suspended", "label"),)),
    ops.Explain("suspended"),
)


def prepared(store: RedisStore, clock: ManualClock) -> tuple[Record, Record]:
    """Create jobs in every status. Returns a running job, and a job with many dependents."""
    store.perform_sync(ops.Listen("test", 3_600_000_000))
    store.perform_sync(ops.Pause(("paused",)))
    store.perform_sync(ops.ChangeSchedule("nightly", None, "v1", "resize", b"body", 0))
    store.perform_sync(ops.ReportWorker(WorkerRecord("worker", "server", 1, ("resize",), 5)))
    store.perform_sync(ops.Start((new_job(id="spent", keep=0),)))
    (spent,) = _claim(store, 1)
    store.perform_sync(ops.Settle((completed(spent),)))
    store.perform_sync(ops.Start((new_job(id="failed"), new_job(id="running"), new_job(id="blocker"))))
    broken, running, blocker = _claim(store, 3)
    store.perform_sync(ops.SaveSteps((checkpoint(broken, "charge"),)))
    store.perform_sync(ops.Settle((failed(broken),)))
    store.perform_sync(
        ops.Start((new_job(id="pending", delay=60), new_job(id="taken", key="taken"), new_job(id="due")))
    )
    store.perform_sync(ops.Start(tuple(new_job("child", id=id, after=("blocker",)) for id in CHILDREN)))
    store.perform_sync(ops.Start(tuple(new_job("other", id=id) for id in OTHERS)))
    store.perform_sync(ops.DeclareLimits((ops.LimitDeclaration("gpu", "limit", 2),)))
    store.perform_sync(ops.Start((with_lanes(new_job("laned", id="held"), order()),)))
    (held,) = store.perform_sync(ops.ClaimJobs((TypeTerms("laned", 30_000_000, 25),), 1, "worker", "before-lanes"))
    store.perform_sync(ops.Settle((failed(held),)))
    store.perform_sync(ops.Start((new_job("waiting", id="suspended"),)))
    (waiting,) = store.perform_sync(ops.ClaimJobs((TypeTerms("waiting", 30_000_000, 25),), 1, "worker", "before-wait"))
    store.perform_sync(ops.Settle((suspended(waiting, receive_of("label"), sleep_for("nap", 60, number=2)),)))
    clock.advance(1)
    return running, blocker


def _claim(store: RedisStore, limit: int) -> list[Record]:
    return store.perform_sync(ops.ClaimJobs(TERMS, limit, "worker", f"before-{limit}"))
