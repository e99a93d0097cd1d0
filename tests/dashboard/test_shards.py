"""The pages of a client with several shards cover all of them."""

import re

import pytest

from holdfast import Client
from holdfast.dashboard import Access, dashboard
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.dashboard.conftest import Browser
from tests.dashboard.shop import add, approve, jobs, refuse

NUMBER = 12


@pytest.mark.parametrize("path", ["/jobs", "/chains"])
async def test_lists_numbers_and_changes_cover_all_shards(path: str) -> None:
    shards = {"eu": MemoryStore(), "us": MemoryStore()}
    async with Client({**shards}, jobs) as client:
        failed = [await client.start(refuse.bind(reason="out of paper"), key=f"order-{n}") for n in range(NUMBER)]
        waiting = [await client.start(approve.bind(order=n), id=f"approval-{n}") for n in range(NUMBER)]
        await client.schedule("nightly", add.bind(a=1), cron="30 2 * * *")
        await drain(client, types=["refuse"])
        browser = Browser(dashboard(client, lambda _request: Access("admin", user="ada")))

        for store in shards.values():
            async with Client(store, jobs) as one:
                assert 0 < len((await one.list_chains(status="failed")).items) < NUMBER
        overview = await browser.text("/")
        assert re.search(rf'status%3Afailed">~?{NUMBER}<', overview)
        listed = await browser.text(f"{path}?q=status:failed")
        assert all(chain.id in listed for chain in failed)
        assert f"order-{NUMBER - 1}" in await browser.text(f"{path}?q=key:order-{NUMBER - 1}")
        for chain in (*failed, *waiting):
            assert chain.id in await browser.text(f"/chains/{chain.id}")
        assert "out of paper" in await browser.text("/errors")
        assert f"{NUMBER} jobs" in await browser.text("/bulk/new?action=retry&q=status:failed")
        for page in ("/limits", "/schedules", "/workers", "/queues", "/bulk", "/search?q=order-1"):
            await browser.get(page)

        await browser.post("/change/pause", type="refuse")
        for chain in failed:
            await browser.post("/change/retry", id=chain.id)
        assert (await client.stats()).types["refuse"].due == NUMBER
        retried = {each.target for each in await client.audit(limit=100) if each.action == "retry"}
        assert retried == {chain.id for chain in failed}
