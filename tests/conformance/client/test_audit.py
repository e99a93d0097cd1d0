"""The audit: the client names the user, and what handlers change is not an operator's change."""

from __future__ import annotations

import getpass
from datetime import timedelta

from holdfast import Bound, Client, SyncClient
from tests.conformance.client.harness import ClientHarness, value


async def test_the_audit_lists_what_the_user_of_the_process_changed(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    client = harness.client
    chain = await client.start(double.bind(1), delay=100)

    await client.run_now(chain, reason="the customer waits")
    await client.cancel(chain, reason="a mistake")
    harness.clock.advance(10)
    await client.retry(chain)
    await client.pause(double, reason="migration")
    await client.resume(double)
    await client.delete([chain], reason="cleaning")

    entries = await client.audit()
    assert {entry.user for entry in entries} == {getpass.getuser()}
    assert [(entry.action, entry.target, entry.reason) for entry in entries] == [
        ("delete", chain.id, "cleaning"),
        ("resume", "value", None),
        ("pause", "value", "migration"),
        ("retry", chain.id, None),
        ("cancel", chain.id, "a mistake"),
        ("run_now", chain.id, "the customer waits"),
    ]
    assert [entry.at for entry in entries] == [harness.time] * 4 + [harness.time - timedelta(seconds=10)] * 2
    assert await client.audit(limit=2) == entries[:2]
    assert await client.audit(since=harness.time) == entries[:4]
    assert [entry.action for entry in await client.audit(chain)] == ["delete", "retry", "cancel", "run_now"]
    assert await client.audit(chain.id, limit=1) == entries[:1]
    assert [entry.action for entry in await client.audit(job="value")] == ["resume", "pause"]


async def test_the_changes_of_a_chain_are_found_by_any_of_its_jobs(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second = harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind())
    await harness.drain()
    last = await harness.now(chain)
    await harness.client.run_now(last)
    await harness.client.cancel(chain)
    await harness.client.retry(chain)

    for subject in (chain, chain.id, last, last.id, chain.first_job):
        assert [(entry.action, entry.target) for entry in await harness.client.audit(subject)] == [
            ("retry", last.id),
            ("cancel", chain.id),
            ("run_now", last.id),
        ]


async def test_a_client_may_name_its_user(harness: ClientHarness) -> None:
    named = Client(harness.store, harness.jobs, user="ann@example.org")

    await named.pause("resize")

    (entry,) = await harness.client.audit()
    assert (entry.user, entry.action, entry.target) == ("ann@example.org", "pause", "resize")


async def test_what_a_handler_changes_is_not_an_operators_change(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocking = SyncClient(harness.store, harness.jobs)

    @harness.jobs.job
    async def tidy(chain: str) -> None:
        await harness.workers_client.cancel(chain)

    @harness.jobs.job
    def tidy_in_a_thread(chain: str) -> None:
        blocking.cancel(chain)

    chains = [await harness.client.start(double.bind(1), delay=100) for _ in range(2)]
    await harness.client.start(tidy.bind(chains[0].id))
    await harness.client.start(tidy_in_a_thread.bind(chains[1].id))
    await harness.drain()

    assert [(await harness.now(chain)).status for chain in chains] == ["cancelled", "cancelled"]
    assert await harness.client.audit() == []
