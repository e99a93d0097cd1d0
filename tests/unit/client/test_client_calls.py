"""What client methods refuse before they call the store."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from holdfast import Jobs, SyncClient
from holdfast.core.record import Status

jobs = Jobs()


@jobs.job
def resize(image_id: int) -> None: ...


@pytest.fixture
def client() -> Generator[SyncClient]:
    with SyncClient("memory://", jobs) as client:
        yield client


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "\u0663", "9" * 19, "9" * 30, "9" * 5000])
def test_an_invalid_cursor_is_refused(client: SyncClient, cursor: str) -> None:
    with pytest.raises(ValueError, match="is no cursor: pass the next_cursor of an earlier page"):
        client.list_chains(cursor=cursor)
    with pytest.raises(ValueError, match="is no cursor: pass the next_cursor of an earlier page"):
        client.list_jobs(cursor=cursor)


@pytest.mark.parametrize("limit", [0, -1])
def test_an_invalid_limit_of_prune_is_refused(client: SyncClient, limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit must be at least 1, not {limit}"):
        client.prune(limit=limit)


@pytest.mark.parametrize("timeout", [float("nan"), -1])
def test_an_invalid_wait_timeout_is_refused(client: SyncClient, timeout: float) -> None:
    chain = client.start(resize.bind(1))

    with pytest.raises(ValueError, match="timeout must be at least 0 seconds"):
        client.wait(chain, timeout=timeout)
    with pytest.raises(ValueError, match="timeout must be at least 0 seconds"):
        client.run(resize.bind(2), timeout=timeout)
    assert client.stats().counts[Status.PENDING] == 1


def test_a_job_type_is_not_started_without_its_arguments(client: SyncClient) -> None:
    unbound: Any = resize
    number: Any = 5

    with pytest.raises(TypeError, match=r"resize is a job type; start resize.bind\(...\)"):
        client.start(unbound)
    with pytest.raises(TypeError, match=r"resize is a job type; start resize.bind\(...\)"):
        client.start(unbound, delay=5)
    with pytest.raises(TypeError, match=r"only the result of TYPE.bind\(...\) can be started, not int"):
        client.start_many([resize.bind(1), number])
    assert not client.list_chains().items


def test_a_chain_does_not_continue_with_an_object_that_is_no_call(client: SyncClient) -> None:
    unbound: Any = resize
    number: Any = 5
    chain = client.start(resize.bind(1))

    with (
        pytest.raises(TypeError, match=r"resize is a job type; continue with resize.bind\(...\)"),
        client.completing(chain) as current,
    ):
        current.continue_with(unbound)
    with (
        pytest.raises(TypeError, match=r"only the result of TYPE.bind\(...\) can be continued with, not int"),
        client.completing(chain) as current,
    ):
        current.continue_with(number)


@pytest.mark.parametrize("one", [resize, resize.bind(1)])
def test_start_many_refuses_a_single_call(client: SyncClient, one: Any) -> None:
    with pytest.raises(TypeError, match=r"takes a list of calls: start_many\(\[resize.bind\(...\), ...\]\)"):
        client.start_many(one)
    assert not client.list_chains().items


@pytest.mark.parametrize("wrong", [5, None, resize.bind(1)])
def test_an_object_that_is_no_chain_and_no_job_is_refused(client: SyncClient, wrong: Any) -> None:
    of_chains: list[Callable[[Any], object]] = [client.wait, client.get, client.cancel, client.completing]
    of_jobs: list[Callable[[Any], object]] = [client.get_job, client.report, client.retry, client.run_now]

    for call in of_chains:
        with pytest.raises(TypeError, match=f"a chain is given as a Chain, .* not as {type(wrong).__name__}"):
            call(wrong)
    for call in of_jobs:
        with pytest.raises(TypeError, match=f"a job is given as a Job or by its id, not as {type(wrong).__name__}"):
            call(wrong)


def test_the_error_names_unknown_start_options(client: SyncClient) -> None:
    options: Any = {"retries": 3}

    with pytest.raises(
        TypeError, match=r"client\.start takes no 'retries'; it takes after, at, debounce, debounce_max, dedup"
    ):
        client.start(resize.bind(1), **options)
    with pytest.raises(TypeError, match=r"say bind\(...\).options\(retries=...\)"):
        client.run(resize.bind(1), **options)
    assert not client.list_chains().items


def test_starting_an_unregistered_type_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with SyncClient("memory://", Jobs()) as client:
        client.start(resize.bind(1))
        client.start(resize.bind(2))

    (reported,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "'resize' was started, and is not in the registry of this client" in reported.getMessage()


def test_a_client_without_a_registry_starts_what_it_is_given(caplog: pytest.LogCaptureFixture) -> None:
    with SyncClient("memory://") as client:
        client.start(resize.bind(1))

    assert [record for record in caplog.records if record.levelname == "WARNING"] == []
