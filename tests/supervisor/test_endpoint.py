"""The health endpoint, asked over a real connection."""

from __future__ import annotations

import httpx

from tests.supervisor.harness import TIMEOUT, Harness, read, ready, write
from tests.supervisor.work import hold


async def test_it_reports_the_backlog_the_busy_slots_and_the_health(harness: Harness) -> None:
    begun, gate = harness.gate("held")
    async with (
        harness.supervised(listen=("127.0.0.1", 0)) as (supervisor, recorder),
        httpx.AsyncClient(timeout=TIMEOUT) as http,
    ):
        await ready(supervisor, recorder)
        assert supervisor.endpoint is not None
        host, port = supervisor.endpoint.address
        base = f"http://{host}:{port}"
        chain = await harness.client.start(hold.bind(str(begun), str(gate)))
        await read(begun)

        assert (await http.get(f"{base}/healthz")).text == "ok\n"
        assert (await http.get(f"{base}/readyz")).status_code == 200
        backlog = (await http.get(f"{base}/backlog")).json()
        metrics = (await http.get(f"{base}/metrics")).text

        assert backlog["known"] is True
        assert backlog["groups"]["default"]["processes"] == 1
        assert set(backlog["types"]) == {"note", "where", "hold", "queue_up", "compute", "hog"}
        assert 'holdfast_processes{group="default"} 1' in metrics
        assert 'holdfast_slots{group="default"} 2' in metrics
        assert "# TYPE holdfast_due_jobs gauge" in metrics
        assert (await http.head(f"{base}/metrics")).status_code == 200
        assert (await http.get(f"{base}/elsewhere")).status_code == 404
        assert (await http.post(f"{base}/healthz")).status_code == 405
        await write(gate)
        await harness.client.wait(chain, timeout=TIMEOUT)


async def test_it_is_not_ready_before_its_workers_are(harness: Harness) -> None:
    crashing = "tests.supervisor.crashing"
    async with (
        harness.supervised(listen=("127.0.0.1", 0), entry=crashing) as (supervisor, recorder),
        httpx.AsyncClient(timeout=TIMEOUT) as http,
    ):
        await recorder.receive("process_died")
        assert supervisor.endpoint is not None
        host, port = supervisor.endpoint.address

        assert (await http.get(f"http://{host}:{port}/readyz")).status_code == 503
        assert (await http.get(f"http://{host}:{port}/healthz")).status_code == 200
