"""Text of jobs never becomes markup, and never hides what a page shows."""

import re
import unicodedata
from urllib.parse import quote

from holdfast import Client, Fail, Jobs, Limit, Queue
from holdfast.dashboard import Access, dashboard
from holdfast.dashboard.pages import NAVIGATION
from holdfast.testing import drain
from tests.dashboard.conftest import Browser
from tests.edges.cli.test_hostile_data import ALL, MARKUP

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>'\"><svg/onload=alert(1)>{{7*7}}</title></textarea>"
NAMES = "<i>name</i>'\"{{7*7}}"


async def test_hostile_text_is_shown_as_text() -> None:
    jobs = Jobs()

    @jobs.job(name=NAMES, limits=[Limit(NAMES, 1, by="reason")])
    async def refuse(reason: str) -> None:
        raise Fail(reason)

    async with Client("memory://", jobs) as client:
        started = [await client.start(refuse.bind(reason=text), key=text) for text in (ALL, MARKUP, SCRIPT)]
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
        paths += [f"/chains/{each.id}" for each in (*started, later)]
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
