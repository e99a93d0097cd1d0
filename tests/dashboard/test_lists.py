"""The lists of jobs and of chains, and the search."""

import asyncio
import re

import pytest

from holdfast import Client
from holdfast.testing import drain
from tests.dashboard.conftest import Browser, Open
from tests.dashboard.shop import add, approve, burst, refuse, twice


def rows(page: str) -> int:
    return page.partition("<tbody>")[2].partition("</tbody>")[0].count("<tr>")


async def test_a_list_is_filtered_by_its_url(client: Client, browser: Browser) -> None:
    await client.start_many([refuse.bind(reason=f"no {n}").options(key=f"order-{n}") for n in range(3)])
    await client.start(add.bind(a=1))
    await drain(client)
    waiting = await client.start(approve.bind(order=1), delay=3600)

    for path in ("/jobs", "/chains"):
        assert rows(await browser.text(path)) == 5
        failed = await browser.text(f"{path}?q=type:refuse+status:failed+error:NO+key:order-1+age:<1h")
        assert rows(failed) == 1
        assert "Fail: no 1" in failed
        assert 'aria-current="true">failed' in failed
        scheduled = await browser.text(f"{path}?q=status:scheduled")
        assert rows(scheduled) == 1
        assert waiting.id in scheduled
        assert "Due</th>" in scheduled
        assert "Error</th>" not in scheduled
        assert rows(await browser.text(f"{path}?q=age:>1h")) == 0
        problem = await browser.text(f"{path}?q=flavour:sweet")
        assert "flavour" in problem
        assert rows(problem) == 0
        await browser.text(f"{path}?cursor=nonsense")
    counted = re.sub(r"<[^>]+>", "", await browser.text("/jobs?q=type:refuse"))
    assert "failed3" in counted
    assert "All3" in counted


async def test_pages_are_connected_by_keys(client: Client, browser: Browser) -> None:
    await client.start_many([approve.bind(order=n) for n in range(120)])

    for path in ("/jobs", "/chains"):
        seen: list[str] = []
        url = f"{path}?q=status:pending"
        while url:
            page = await browser.text(url)
            seen += re.findall(r'<td class="id"><a href="[^"]*" title="([^"]+)"', page)
            found = re.search(r'href="([^"]+)" rel="next"', page)
            url = found[1].replace("&amp;", "&") if found else ""
        assert len(seen) == len(set(seen)) == 120


async def test_a_search_finds_ids_keys_errors_and_types(client: Client, browser: Browser) -> None:
    chain = await client.start(twice.bind(a=1), key="order 7")
    await client.start(burst.bind(reason="out of paper"), max_attempts=1)
    await drain(client)
    second = (await client.list_jobs(chain=chain)).items[0]

    assert (await browser.get(f"/search?q={chain.id}", status=303)).headers["location"] == f"/chains/{chain.id}"
    target = (await browser.get(f"/search?q={second.id}", status=303)).headers["location"]
    assert f"job={second.id}" in target
    await browser.get(target)
    assert chain.id in await browser.text("/search?q=order+7")
    assert "RuntimeError: out of paper" in await browser.text("/search?q=OF+PAPER")
    assert "/jobs?q=type%3Atwice" in await browser.text("/search?q=twi")
    assert "No chain or job" in await browser.text("/search?q=unknown")
    await browser.text("/search")
    await browser.text("/search?q=%00")


async def test_a_store_that_is_too_slow_asks_for_a_narrower_filter(
    client: Client, browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_operation: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(client.store, "perform", never)
    browser = browse(timeout=0.01)

    for path in ("/jobs?q=type:login", "/chains", "/search?q=x"):
        page = await browser.text(path)
        assert "did not answer in time" in page
        assert 'name="q"' in page
    assert "Narrow the filter" in await browser.text("/", status=503)
