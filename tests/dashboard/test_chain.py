"""The page of one chain."""

import re
from typing import Any

import pytest

from holdfast import Client
from holdfast.testing import drain
from tests.dashboard.conftest import Browser, Open
from tests.dashboard.shop import add, approve, burst, entry, fan_out, login, refuse, total, twice


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("<main")[2]))


async def test_a_failed_job_shows_why_it_failed_and_its_attempts(client: Client, browser: Browser) -> None:
    chain = await client.start(burst.bind(reason="out of paper"), key="order-7")
    await drain(client)
    while (await client.get(chain)).status != "failed":  # type: ignore[union-attr]
        await drain(client)

    page = await browser.text(f"/chains/{chain.id}")

    text = plain(page)
    assert "It failed at" in text
    assert "RuntimeError: out of paper" in text
    assert text.index("It failed at") < text.index("Attempts")
    assert "raise RuntimeError(reason)" in text
    assert page.count('<div class="head">') == 2
    assert "order-7" in text
    assert 'action="/change/retry"' in page
    assert 'action="/change/cancel"' not in page


async def test_inputs_and_outputs_are_exact_masked_and_truncated(client: Client, browser: Browser) -> None:
    exact = await client.start(add.bind(a=2**53 + 1, b=0))
    secret = await client.start(login.bind(user="ada", password="open sesame"))
    long = await client.start(refuse.bind(reason="x" * 50_000))
    await drain(client)

    page = await browser.text(f"/chains/{exact.id}")
    assert page.count(str(2**53 + 1)) == 2
    page = await browser.text(f"/chains/{secret.id}")
    assert "open sesame" not in page
    assert "&#34;password&#34;: &#34;***&#34;" in page
    page = await browser.text(f"/chains/{long.id}")
    assert len(page) < 60_000
    (download,) = re.findall(r'href="(/download[^"]+)"', page)
    whole = await browser.get(download.replace("&amp;", "&"))
    assert "attachment" in whole.headers["content-disposition"]
    assert "x" * 50_000 in whole.text
    await browser.get("/download?id=unknown&field=input", status=404)


async def test_redact_decides_what_is_shown_of_payloads_and_errors(client: Client, browse: Open) -> None:
    chain = await client.start(refuse.bind(reason="card 4111"))
    await drain(client)
    fields: set[str] = set()

    def redact(value: Any, field: str) -> Any:
        fields.add(field)
        return {"removed": True} if field == "input" else value.replace("4111", "####")

    browser = browse("read", redact=redact)
    for path in (f"/chains/{chain.id}", "/jobs", "/chains", "/search?q=card", f"/download?id={chain.id}&field=input"):
        assert "4111" not in (await browser.text(path)).replace("q=card", "")
    assert "####" in await browser.text(f"/chains/{chain.id}")
    assert fields == {"input", "error"}

    def fails(value: Any, field: str) -> Any:
        raise ValueError(value)

    page = await browse("read", redact=fails).text(f"/chains/{chain.id}")
    assert "4111" not in page
    assert "redact raised an error" in page


async def test_the_graph_shows_jobs_blockers_and_dependents(client: Client, browser: Browser) -> None:
    blockers = await client.start_many([approve.bind(order=n) for n in range(300)])
    joined = await client.start(total.bind(), after=blockers)
    pair = await client.start(twice.bind(a=1))
    await drain(client)

    page = await browser.text(f"/chains/{joined.id}")
    assert "waits for 300" in page
    assert page.count('class="box"') == 300
    assert page.count('class="box current"') == 1
    assert "It waits for 300 chains to complete" in page
    places = re.findall(r'class="box(?: current)?" x="(\d+)" y="(\d+)"', page)
    assert len(set(places)) == 301
    page = await browser.text(f"/chains/{blockers[0].id}")
    assert "is waited for by 1" in page
    assert joined.id in page
    page = await browser.text(f"/chains/{pair.id}")
    assert page.count('class="line"') == 1
    first = await browser.text(f"/chains/{pair.id}?job={pair.id}")
    assert "Job 1: twice" in plain(first)
    assert "Job 2: add" in plain(page)


async def test_the_graph_shows_started_chains_and_what_started_a_chain(
    client: Client, browser: Browser, browse: Open
) -> None:
    many = await client.start(fan_out.bind(count=300))
    failed = await client.start(fan_out.bind(count=0))
    await drain(client)

    page = await browser.text(f"/chains/{many.id}")
    assert "started 300" in page
    places = re.findall(r'class="box(?: current)?" x="(\d+)" y="(\d+)"', page)
    assert len(set(places)) == 301
    (started, *_rest) = await client.started(many.job)
    page = await browser.text(f"/chains/{started.id}")
    assert page.count(f"/chains/{many.id}") == 2
    assert "Started by" in page
    (hook,) = await client.started(failed.job)
    assert f"/chains/{hook.id}" in await browser.text(f"/chains/{failed.id}")
    page = await browse("read", types=["fan_out"]).text(f"/chains/{many.id}")
    assert "started 300 (300 not shown)" in page
    assert started.id not in page
    page = await browse("read", types=["add"]).text(f"/chains/{started.id}")
    assert many.id not in page
    assert "Started by" not in page


async def test_the_chain_of_a_tick_names_its_schedule(client: Client, browser: Browser, browse: Open) -> None:
    await client.schedule("stock & more", add.bind(a=1), every=3600)
    chain = await client.fire("stock & more")

    page = await browser.text(f"/chains/{chain.id}")
    assert 'href="/schedules/one?name=stock+%26+more">stock &amp; more</a>' in page
    await client.unschedule("stock & more")
    assert "Started by" not in await browser.text(f"/chains/{chain.id}")


async def test_the_explanation_links_the_chains_that_it_names(client: Client, browser: Browser) -> None:
    blocker = await client.start(approve.bind(order=1))
    joined = await client.start(total.bind(), after=[blocker])

    page = await browser.text(f"/chains/{joined.id}")
    assert f'<a class="id" href="/search?q={blocker.id}"' in page.partition("</p>")[2]


async def test_a_failed_job_that_holds_an_order_is_skipped_from_its_page(
    client: Client, browser: Browser, browse: Open
) -> None:
    first, second = [await client.start(entry.bind(account="DE-7", amount=n)) for n in (0, 1)]
    await drain(client)

    page = await browser.text(f"/chains/{first.id}")
    assert "Skip in its order" in page
    await browse("read").post("/change/skip", status=403, id=first.id)
    await browser.post("/change/skip", id=first.id, next=f"/chains/{first.id}")
    await drain(client)

    assert await client.wait(second, timeout=60) == 1
    assert "Skip in its order" not in await browser.text(f"/chains/{second.id}")


@pytest.mark.parametrize("chain_id", ["a/b", "..", "schedule:x:2026-01-01T00:00:00Z", "?id=1#x", "a b%20c", "é\\"])
async def test_every_id_has_a_page(client: Client, browser: Browser, chain_id: str) -> None:
    await client.start(approve.bind(order=1), id=chain_id)

    page = await browser.text("/chains")
    (url,) = set(re.findall(r'<td class="id"><a href="([^"]+)"', page))
    assert "1" in plain(await browser.text(url.replace("&amp;", "&")))
    await browser.post("/change/cancel", id=chain_id, next="/chains")
    assert (await client.get(chain_id)).status == "cancelled"  # type: ignore[union-attr]


async def test_an_unknown_chain_is_not_found(browser: Browser) -> None:
    await browser.get("/chains/unknown", status=404)
    await browser.get("/jobs/unknown", status=404)


async def test_a_job_that_waits_for_a_completion_is_completed_from_its_page(
    client: Client, browser: Browser, browse: Open
) -> None:
    chain = await client.start(approve.bind(order=7))
    other = await client.start(add.bind(a=1), delay=1000)
    job = chain.job.id

    page = await browser.text(f"/chains/{chain.id}")
    assert "Output as JSON" in page
    assert "Output as JSON" not in await browse("read").text(f"/chains/{chain.id}")
    assert "Output as JSON" not in await browser.text(f"/chains/{other.id}")
    await browse("read").post("/change/complete", status=403, id=chain.id, job=job, output="1")
    await browse("admin", types=["add"]).post("/change/complete", status=404, id=chain.id, job=job, output="1")
    for output in ("", "{", '"text"'):
        await browser.post("/change/complete", id=chain.id, job=job, output=output)
        assert "This output is refused" in await browser.text("/")
    await browser.post("/change/complete", id=other.id, job=other.id, output="1")
    assert "A worker runs jobs of this type" in await browser.text("/")
    await browser.post("/change/complete", id=chain.id, job=job, output="9007199254740993")
    await browser.post("/change/complete", id=chain.id, job=job, output="1")

    assert await client.wait(chain, timeout=60) == 9007199254740993
    assert [(entry.user, entry.action) for entry in await client.audit(chain)] == [("ada", "complete")]
