"""Every page on every store, mounted under a path."""

import re

from starlette.applications import Starlette
from starlette.routing import Mount

from holdfast import Client
from holdfast.dashboard import Access, dashboard
from holdfast.testing import drain
from holdfast.testing.conformance import StoreFactory
from tests.dashboard.conftest import Browser
from tests.dashboard.shop import add, approve, jobs, refuse, total, twice


async def test_every_page_works_on_every_store(make_store: StoreFactory) -> None:
    store = make_store()
    await store.open()
    try:
        client = Client(store, jobs)
        blocker = await client.start(approve.bind(order=1), key="order-1")
        joined = await client.start(total.bind(), after=[blocker])
        await client.start(twice.bind(a=1))
        failed = await client.start(refuse.bind(reason="out of paper"))
        later = await client.start(add.bind(a=1), delay=3600)
        await drain(client)
        app = Starlette(routes=[Mount("/ops/jobs", dashboard(client, lambda _request: Access("admin", user="ada")))])
        browser = Browser(app)

        seen: set[str] = set()
        todo = ["/ops/jobs/", "/ops/jobs/?period=day", "/ops/jobs/search?q=order-1"]
        while todo:
            path = todo.pop()
            if path in seen or path.startswith("/ops/jobs/static/"):
                continue
            seen.add(path)
            response = await browser.http.get(path)
            assert response.status_code in (200, 303), (path, response.text)
            links = re.findall(r'(?:href|action)="([^"#]+)', response.text.replace("&amp;", "&"))
            assert all(link.startswith("/ops/jobs/") for link in links), (path, links)
            todo += [link for link in links if re.fullmatch(r"/ops/jobs/(jobs|chains|search)(\?.*|/.*)?", link)]
        assert len(seen) > 20
        await browser.post("/ops/jobs/change/retry", id=failed.id)
        await browser.post("/ops/jobs/change/run-now", id=later.id)
        await browser.post("/ops/jobs/change/cancel", id=joined.id)
        await browser.post("/ops/jobs/change/pause", type="add")
        assert await browser.post("/ops/jobs/change/delete", id=joined.id) == "/ops/jobs/chains"
        assert "paused" in await browser.text("/ops/jobs/")
        actions = ["delete", "pause", "cancel", "run_now", "retry"]
        assert [(each.action, each.user) for each in await client.audit()] == [(each, "ada") for each in actions]
    finally:
        await store.close()
