"""Deleting and pruning many chains and long chains. No job may be left without its blocker."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    Delete,
    GetJobs,
    GetStats,
    Keep,
    Prune,
    Reap,
    RetryJobs,
    Settle,
    Start,
)
from holdfast.errors import StillReferenced
from holdfast.stores.redis import RedisStore, script_loader
from holdfast.stores.redis.verbs import delete, prune, settle
from holdfast.stores.redis.verbs.script_call import ScriptCall
from holdfast.testing.builders import completed, new_job, next_job
from tests.stores.redis.many import MANY, TERMS, Crash, crashing, grown, ids, statuses, waiting


def chained(store: RedisStore) -> None:
    """Each chain waits for the one before it, and all for the first: they can only be deleted in reverse order."""
    jobs = [NewJob("root", "resize", "root", b"")]
    for id in ids("job"):
        jobs.append(NewJob(id, "resize", id, b"", after=("root", jobs[-1].id)))
    store.perform_sync(Start(tuple(jobs)))


def test_many_chains_are_deleted_with_all_their_blockers(store: RedisStore) -> None:
    chained(store)

    deleted = store.perform_sync(Delete((ids("job")[-1],), cascade=True))

    assert sorted(deleted) == sorted(["root", *ids("job")])
    assert store.perform_sync(GetStats()) == []


def test_a_dependent_of_one_of_many_chains_prevents_the_deletion_of_all(store: RedisStore) -> None:
    chained(store)
    store.perform_sync(Start((new_job(id="outside", after=("root",)),)))

    with pytest.raises(StillReferenced) as refused:
        store.perform_sync(Delete((ids("job")[-1],), cascade=True))

    assert refused.value.references == [("root", "outside")]
    assert statuses(store, "root", *ids("job")) == {Status.PENDING: 1, Status.BLOCKED: MANY}


def without_blocker(store: RedisStore) -> list[str]:
    """Jobs of `chained` that exist while a blocker of theirs does not."""
    there = {job.id for job in store.perform_sync(GetJobs(("root", *ids("job")))) if job}
    before = dict(zip(ids("job"), ("root", *ids("job")), strict=False))
    return [id for id in ids("job") if id in there and not {before[id], "root"} <= there]


@pytest.mark.parametrize("calls_done", range(1, 5))
def test_an_interrupted_deletion_leaves_no_job_without_its_blocker_and_can_be_repeated(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, calls_done: int
) -> None:
    chained(store)
    removed = 0

    def crashing_call(script: str, *given: Any, **named: Any) -> ScriptCall:
        nonlocal removed
        removed += script == "remove"
        if removed > calls_done:
            raise Crash
        return ScriptCall(script, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(delete, "ScriptCall", crashing_call)
        with pytest.raises(Crash):
            store.perform_sync(Delete(("root", *ids("job"))))
    assert without_blocker(store) == []

    store.perform_sync(Delete(("root", *ids("job"))))

    assert store.perform_sync(GetStats()) == []


def test_a_chain_with_a_new_dependent_stays_with_its_blockers(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chained(store)

    def no_dependents(*_: object) -> Generator[Any, Any, list[tuple[str, str]]]:
        """Finds no dependent; then one is created."""
        store.perform_sync(Start((new_job(id="outside", after=(ids("job")[50],)),)))
        monkeypatch.undo()
        return []
        yield

    monkeypatch.setattr(delete, "_outside_dependents", no_dependents)
    with pytest.raises(StillReferenced) as refused:
        store.perform_sync(Delete(("root", *ids("job"))))

    assert refused.value.references == [(ids("job")[50], "outside")]
    assert statuses(store, "root", *ids("job")) == {Status.PENDING: 1, Status.BLOCKED: 51}
    assert without_blocker(store) == []


def test_chains_with_dependents_do_not_delay_the_pruning_of_others(store: RedisStore) -> None:
    store.perform_sync(Start(tuple(new_job(id=id) for id in (*ids("needed"), "free"))))
    store.perform_sync(Start((new_job(id="open"), new_job(id="last", after=(*ids("needed"), "open")))))
    jobs = store.perform_sync(ClaimJobs(TERMS, MANY + 1, "worker", new_token()))
    store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
    store.perform_sync(Keep((*ids("needed"), "free"), 0))

    assert store.perform_sync(Prune(10)) == ["free"]


def recorded(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[ScriptCall]:
    """The calls of this module from now on."""
    calls: list[ScriptCall] = []

    def call(script: str, *given: Any, **named: Any) -> ScriptCall:
        calls.append(ScriptCall(script, *given, **named))
        return calls[-1]

    monkeypatch.setattr(module, "ScriptCall", call)
    return calls


def test_a_call_removes_a_hundred_jobs_however_few_the_chains(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"chain-{number}" for number in range(5)]
    for name in names:
        grown(store, name, 40)
    calls = recorded(monkeypatch, delete)

    assert store.perform_sync(Delete(tuple(names))) == names

    assert [call.body[0] for call in calls if call.script == "remove"] == [names[:2], names[2:4], names[4:]]
    assert store.perform_sync(GetStats()) == []


def test_a_call_prunes_a_hundred_jobs_however_few_the_chains(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"chain-{number}" for number in range(4)]
    for name, length in zip(names, (40, 40, 40, 150), strict=True):
        grown(store, name, length, keep=0)
    calls = recorded(monkeypatch, prune)

    assert store.perform_sync(Prune(10)) == names

    assert len(calls) == 3
    assert store.perform_sync(GetStats()) == []


@pytest.mark.parametrize("how", ["pruned", "deleted"])
def test_a_chain_is_removed_only_after_all_its_dependents_are_released(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    blocker = waiting(store)
    with crashing(monkeypatch, settle, "release"):
        store.perform_sync(Settle((completed(blocker),)))
    store.perform_sync(CancelChains(ids("child")[200:]))
    reported = store.perform_sync(ClaimJobs(TERMS, MANY, "worker", new_token()))
    store.perform_sync(Settle(tuple(completed(job) for job in reported)))
    store.perform_sync(CancelChains(ids("child")[100:200]))
    store.perform_sync(Keep(("blocker",), 0))

    if how == "pruned":
        assert store.perform_sync(Prune(10)) == []
        store.perform_sync(Reap(("resize",), (), 10))
        assert store.perform_sync(Prune(10)) == ["blocker"]
    else:
        assert store.perform_sync(Delete(("blocker",))) == ["blocker"]

    assert [job.status for job in store.perform_sync(RetryJobs(ids("child")[100:]))] == [Status.PENDING] * 150


@contextmanager
def cycles_allowed(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Scripts without the check for cycles, as in versions that did not have it."""
    plain: Any = getattr(script_loader, "_read")  # noqa: B009 - private: only the text of the scripts changes

    def without_check(path: str) -> str:
        text: str = plain(path)
        return text.replace("if blocker == own then", "if false then")

    with monkeypatch.context() as patched:
        patched.setattr(script_loader, "_read", without_check)
        script_loader.script.cache_clear()
        yield
    script_loader.script.cache_clear()


def test_long_chains_that_wait_for_each_other_are_deleted_together(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More jobs than one call removes, in two chains that each wait for the other.
    store.perform_sync(Start((new_job(id="one"), new_job(id="two"))))
    for chain, other in (("one", "two"), ("two", "one")):
        jobs = [new_job(id=chain)]
        for number in range(60):
            jobs.append(next_job(jobs[-1], id=f"{chain}-{number}", after=(other,) if number == 59 else ()))
        with cycles_allowed(monkeypatch):
            store.perform_sync(Complete(chain, chain, tuple(Completion(b"1", job) for job in jobs[1:])))
    assert statuses(store, "one-59", "two-59") == {Status.BLOCKED: 2}

    deleted = store.perform_sync(Delete(("one", "two")))

    assert sorted(deleted) == ["one", "two"]
    assert store.perform_sync(GetStats()) == []
