"""Live updates: one listener for all viewers, and only changes that a viewer may see."""

import asyncio

import pytest

from holdfast import Client
from holdfast.dashboard import Access, answering, dashboard, live
from holdfast.dashboard.live import Changes
from tests.dashboard.conftest import Browser
from tests.dashboard.shop import add, approve


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PAUSE", 0.0)


@pytest.mark.usefixtures("no_pause")
async def test_viewers_receive_the_changes_that_they_may_see(client: Client) -> None:
    listeners = 0
    events = client.events

    def counted() -> object:
        nonlocal listeners
        listeners += 1
        return events()

    client.events = counted  # type: ignore[method-assign, assignment]
    changes = Changes(client)
    everything = changes.messages(Access("read"), None)
    restricted = changes.messages(Access("read", types=["approve"]), None)
    chain = await client.start(add.bind(a=1), delay=3600)
    one_chain = changes.messages(Access("read"), chain.id)
    for stream in (everything, restricted, one_chain):
        assert await anext(stream) == "retry: 5000\n\n"
    first = asyncio.create_task(anext(restricted))
    second = asyncio.create_task(anext(one_chain))

    async with asyncio.timeout(60):
        received = asyncio.create_task(anext(everything))
        while not received.done():
            await client.start(add.bind(a=2), delay=3600)
            await asyncio.sleep(0.01)
        assert "event: changed" in received.result()
        assert not first.done()
        assert not second.done()
        await client.start(approve.bind(order=1))
        await client.cancel(chain)
        assert "event: changed" in await first
        assert "event: changed" in await second
    assert listeners == 1
    assert changes.viewers == 3
    changes.end()
    for stream in (everything, restricted, one_chain):
        assert [message async for message in stream] == []
    assert changes.viewers == 0
    assert changes._task is None  # pyright: ignore[reportPrivateUsage]


async def test_pages_connect_to_live_updates_except_under_wsgi(client: Client) -> None:
    app = dashboard(client, insecure=True)

    async def under_wsgi(scope: dict[str, object], receive: object, send: object) -> None:
        await app({**scope, "wsgi_environ": {}}, receive, send)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert 'data-live="/live"' in await Browser(app).text("/jobs")
    assert "data-live" not in await Browser(under_wsgi).text("/jobs")
    await Browser(under_wsgi).get("/live", status=403)


async def test_the_number_of_open_connections_is_limited(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "MOST_VIEWERS", 0)

    await browser.get("/live", status=204)
