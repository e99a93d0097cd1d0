"""Text of jobs never becomes markup, and never hides what a page shows."""

import logging
import re
import unicodedata
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from holdfast import Attempt, Chain, Client, Fail, Jobs, Limit, Queue
from holdfast.contrib.logging import StoreLogs
from holdfast.dashboard import Access, dashboard
from holdfast.dashboard.pages import NAVIGATION
from holdfast.engine.store import Store
from holdfast.testing import drain
from holdfast.testing.conformance import StoreFactory
from tests.dashboard.conftest import Browser
from tests.edges.cli.test_hostile_data import ALL, MARKUP

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>'\"><svg/onload=alert(1)>{{7*7}}</title></textarea>"
NAMES = "<i>name</i>'\"{{7*7}}"


@asynccontextmanager
async def opened(store: Store) -> AsyncGenerator[Store]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def text_of() -> str:
    return SCRIPT


async def test_hostile_text_is_shown_as_text(make_store: StoreFactory) -> None:
    jobs = Jobs(plugins=[StoreLogs()])

    @jobs.job(name=NAMES, limits=[Limit(NAMES, 1, by="reason")])
    async def refuse(reason: str) -> None:
        raise Fail(reason)

    @jobs.job(name=f"{NAMES} steps")
    async def steps(attempt: Attempt) -> None:
        await attempt.progress(0.5, SCRIPT)
        logging.getLogger("shop").warning("%s", SCRIPT)
        await attempt.step(SCRIPT, text_of, each=SCRIPT)
        await attempt.receive(SCRIPT, str)

    @jobs.job(name=f"{NAMES} side")
    async def side(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(refuse.bind(reason=SCRIPT), id=f"{SCRIPT} started", delay=1000)
            return done.output(SCRIPT)

    async with opened(make_store()) as store, Client(store, jobs) as client:
        started: list[Chain[Any]] = [
            await client.start(refuse.bind(reason=text), key=text) for text in (ALL, MARKUP, SCRIPT)
        ]
        started.append(await client.start(steps.bind()))
        started.append(await client.start(side.bind(), id=f"{SCRIPT} side"))
        await drain(client)
        later = await client.start(refuse.bind(reason="x"), delay=60)
        await client.cancel(later, reason=SCRIPT)
        await client.start(refuse.bind(reason=SCRIPT), delay=1000)
        await client.schedule(NAMES, refuse.bind(reason=SCRIPT), cron="0 0 * * *")
        async with Queue[str, str](NAMES, store=client.store) as queue:
            await queue.enqueue("<i>id</i>", SCRIPT)
        browser = Browser(dashboard(client, lambda _request: Access("admin", user=SCRIPT)))
        await browser.post("/change/retry", id="<b>unknown</b>" + SCRIPT, next="/")

        paths = [page.path for page in NAVIGATION]
        paths += ["/jobs?q=status:failed", "/search?q=alert", f"/jobs?q={quote(SCRIPT)}", f"/search?q={quote(SCRIPT)}"]
        paths += [f"/schedules/one?name={quote(NAMES)}", f"/queues/one?name={quote(NAMES)}", "/bulk"]
        paths += [f"/chains/-?id={quote(each.id)}" for each in (*started, later)]
        paths += [f"/chains/-?id={quote(f'{SCRIPT} started')}"]
        for path in paths:
            page = await browser.text(path)
            assert not re.search(r"<script(?! src=\"/static/)", page), path
            assert not re.search(r"<(img src=x|svg/|b>|i>)", page), path
            assert not re.search(r"\balert\(1\)&(?!lt;|gt;|#39;|#34;)", page), path
            assert "49" not in page.partition("{{7")[2][:10], path
            found = {each for each in page if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp")}
            assert found <= {"\n", "\t", "\u200d"}, path
        missing = await browser.text("/chains/%3Cscript%3E", status=404)
        assert "<script>" not in missing
