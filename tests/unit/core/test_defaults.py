"""Every default has one value, wherever it is named."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

from holdfast import Queue, Reaper, Retry, SyncQueue, Worker
from holdfast.core import defaults
from holdfast.registry.options import TypeOptions
from holdfast.supervisor import Group


def signature(call: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(call).parameters.items()}


def test_a_worker_has_the_defaults_of_the_module() -> None:
    given = signature(Worker)

    assert (given["concurrency"], given["poll_interval"], given["grace"], given["lease"]) == (10, 60, 25, 60)
    assert (given["poll_without_wakeups"], given["mismatch_timeout"], given["renew_interval"]) == (1, 3600, None)
    assert given["lease"] is defaults.LEASE
    assert given["mismatch_timeout"] is defaults.MISMATCH_TIMEOUT


def test_a_group_differs_from_a_worker_in_its_lease_and_in_how_often_it_polls() -> None:
    group, worker = Group(), signature(Worker)
    shared = {field.name for field in dataclasses.fields(Group)} & worker.keys() - {"types", "retry"}

    different = {name for name in shared if getattr(group, name) != worker[name]}

    assert different == {"lease", "poll_without_wakeups"}
    assert (group.lease, group.poll_without_wakeups) == (30, 0.25)
    assert group.retry == Retry()


def test_a_retry_and_a_type_have_the_defaults_of_the_module() -> None:
    assert Retry() == Retry(initial=10, multiplier=2, maximum=300, jitter=0.1, max_attempts=25)
    assert TypeOptions().keep == defaults.KEEP


def test_queues_agree_on_their_defaults() -> None:
    both, producer = signature(Queue), signature(SyncQueue)

    assert (both["concurrency"], both["max_retries"], both["visibility_timeout"], both["result_ttl"]) == (
        1,
        3,
        30,
        3600,
    )
    assert {name for name in producer if producer[name] != both[name]} == set()
    for name in ("grace", "poll_interval", "mismatch_timeout"):
        assert both[name] == signature(Worker)[name]
    assert signature(Reaper)["lease"] is defaults.REAPER_LEASE


@pytest.mark.parametrize("call", [Worker, Queue, SyncQueue, Reaper, Retry, Group])
def test_every_number_in_a_signature_is_in_the_module(call: Any) -> None:
    values = {value for name, value in vars(defaults).items() if name.isupper()}
    numbers = {
        name: value for name, value in signature(call).items() if isinstance(value, int | float) and value is not False
    }

    assert {name for name, value in numbers.items() if value not in values} == set()
