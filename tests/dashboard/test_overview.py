"""The overview: numbers, charts, and what is wrong."""

import asyncio
import html
import json
import re

import pytest

from holdfast import Client
from holdfast.dashboard import shared
from holdfast.dashboard.shared import Cached
from holdfast.testing import drain
from tests.dashboard.conftest import Browser, Open
from tests.dashboard.shop import add, approve, refuse


async def test_the_overview_shows_numbers_and_charts_of_the_last_hour_and_day(client: Client, browser: Browser) -> None:
    await client.start_many([add.bind(a=n) for n in range(7)])
    await client.start(refuse.bind(reason="no"))
    await drain(client)

    for path, points in (("/", 60), ("/?period=day", 144)):
        page = await browser.text(path)
        charts = {
            name: json.loads(html.unescape(values))
            for name, values in re.findall(r'data-of="(\w+)" data-values="([^"]+)"', page)
        }
        assert list(charts) == ["throughput", "waits", "runs"]
        totals = {each["name"]: sum(each["values"]) for each in charts["throughput"]["series"]}
        assert totals == {"completed": 7, "failed": 1, "retried": 0}
        assert all(len(each["values"]) == points for chart in charts.values() for each in chart["series"])
        assert max(value for value in charts["runs"]["series"][0]["values"] if value is not None) > 0
        assert page.count('class="plot') == 9


async def test_one_sentence_says_what_is_wrong_and_links_to_it(client: Client, browser: Browser) -> None:
    healthy = re.findall(r'class="finding.*', await browser.text("/"))
    await client.start(approve.bind(order=1))  # waits for a completion from outside
    page = await browser.text("/")
    assert re.findall(r'class="finding.*', page) == healthy
    assert re.search(r"<dt>Due</dt><dd><a [^>]+>0</a>", page)
    assert "1 external" in page

    await client.start(add.bind(a=1))
    assert "1 job is due, and no worker is live." in await browser.text("/")
    await browser.post("/change/pause", type="add")
    page = await browser.text("/")
    assert "add is paused, and 1 job is due." in page
    assert 'href="/jobs?q=type%3Aadd+status%3Apending">Show' in page
    assert "/change/resume" in page


async def test_callers_at_the_same_time_share_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "QUICK", -1.0)
    reads = 0
    go_on = asyncio.Event()

    async def read() -> int:
        nonlocal reads
        reads += 1
        await go_on.wait()
        return reads

    cached = Cached(read)
    callers = [asyncio.create_task(cached.get()) for _ in range(5)]
    await asyncio.sleep(0)
    callers[0].cancel()
    go_on.set()
    assert await asyncio.gather(*callers[1:]) == [1, 1, 1, 1]

    # While the next read is slow, the old value is used; after a change it is not.
    go_on.clear()
    cached._until = 0.0  # pyright: ignore[reportPrivateUsage]
    assert await cached.get() == 1
    cached.expire()
    waiting = asyncio.create_task(cached.get())
    await asyncio.sleep(0)
    go_on.set()
    assert await waiting == 3


async def test_a_page_is_smaller_than_150_kilobytes(client: Client, browse: Open) -> None:
    await client.start_many([approve.bind(order=n).options(key=f"a key of a job {n}") for n in range(100)])
    browser = browse()

    for path in ("/", "/jobs", "/chains"):
        response = await browser.get(path)
        received = int(response.headers["content-length"])
        for url in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', response.text)):
            received += int((await browser.get(url)).headers["content-length"])
        assert received < 150_000
