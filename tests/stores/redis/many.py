"""More jobs than one script handles, and callers that crash between two calls."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs, Complete, Completion, GetJobs, Start, TypeTerms
from holdfast.engine.store import Store
from holdfast.testing.builders import new_job, next_job

TERMS = (TypeTerms("resize", 30_000_000, 25),)
MANY = 250
BLOCKER = new_job(id="blocker")


class Crash(Exception):
    """The caller crashes between two calls."""


@contextmanager
def crashing(monkeypatch: pytest.MonkeyPatch, module: Any, function: str) -> Generator[None]:
    """The caller crashes when it calls this function."""

    def crash(*_: object) -> Generator[None]:
        raise Crash
        yield

    with monkeypatch.context() as patched:
        patched.setattr(module, function, crash)
        with pytest.raises(Crash):
            yield


def ids(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}-{number:03}" for number in range(MANY))


def claim(store: Store) -> Record:
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", new_token()))
    return job


def waiting(store: Store, **options: Any) -> Record:
    """A running blocker with many dependents."""
    store.perform_sync(Start((BLOCKER,)))
    store.perform_sync(Start(tuple(new_job(id=id, after=("blocker",), **options) for id in ids("child"))))
    return claim(store)


def statuses(store: Store, *names: str) -> dict[Status, int]:
    found = [job.status for job in store.perform_sync(GetJobs(names)) if job]
    return {status: found.count(status) for status in set(found)}


def grown(store: Store, id: str, length: int, **options: Any) -> None:
    """A finished chain with this number of jobs."""
    first = new_job(id=id, **options)
    store.perform_sync(Start((first,)))
    jobs = [first]
    for number in range(1, length):
        jobs.append(next_job(jobs[-1], "resize", id=f"{id}-{number:03}", **options))
    completions = tuple(Completion(output=b"1", continuation=job) for job in jobs[1:])
    store.perform_sync(Complete(id, id, (*completions, Completion(output=b"1"))))
