"""Roles and types are checked for every page and every change."""

from typing import Any

from holdfast import Client
from holdfast.core.record import Status
from holdfast.dashboard.access import ROLES
from holdfast.dashboard.pages import NAVIGATION, ROUTES
from holdfast.testing import drain
from tests.dashboard.conftest import Open
from tests.dashboard.shop import add, approve, refuse, total, twice


async def test_a_change_needs_its_role(browse: Open) -> None:
    changes = [route for route in ROUTES if route.method == "POST"]
    assert {route.role for route in changes} == {"operate", "admin"}

    for role in ROLES:
        for read_only in (False, True):
            browser = browse(role, read_only=read_only)
            for route in changes:
                allowed = not read_only and ROLES.index(role) >= ROLES.index(route.role)
                response = await browser.http.post(route.path, headers={"Sec-Fetch-Site": "same-origin"})
                assert (response.status_code != 403) is allowed, (role, route.path)
                assert response.status_code != 500


async def test_changes_are_recorded_with_the_user(client: Client, browse: Open) -> None:
    browser = browse("admin", user="ada@example.org")
    failed = await client.start(refuse.bind(reason="no"))
    await drain(client)
    later = await client.start(add.bind(a=1), delay=3600)
    other = await client.start(add.bind(a=2), delay=3600)

    target = await browser.post("/change/retry", id=failed.id, next=f"/chains/{failed.id}")
    assert target == f"/chains/{failed.id}"
    assert "pending again" in await browser.text(target)
    assert "pending again" not in await browser.text(target)
    await browser.post("/change/run-now", id=later.id)
    await browser.post("/change/cancel", id=later.id)
    assert await browser.post("/change/delete", id=other.id, next=f"/chains/{other.id}") == "/chains"
    await browser.post("/change/pause", type="add")
    assert (await client.stats()).types["add"].paused
    await browser.post("/change/resume", type="add")
    refused = await browser.post("/change/retry", id=failed.id, next="https://evil.example/")
    assert refused == "/"
    assert "pending" in await browser.text("/")

    assert (await client.get(failed)).status is Status.PENDING  # type: ignore[union-attr]
    assert (await client.get(later)).status is Status.CANCELLED  # type: ignore[union-attr]
    assert await client.get(other) is None
    entries = await client.audit()
    assert {entry.user for entry in entries} == {"ada@example.org"}
    assert [entry.action for entry in reversed(entries)] == ["retry", "run_now", "cancel", "delete", "pause", "resume"]
    assert "ada@example.org" in await browser.text(f"/chains/{failed.id}")


async def test_other_types_are_neither_seen_nor_changed(client: Client, browse: Open) -> None:
    hidden = await client.start(refuse.bind(reason="a secret"), key="hidden-key")
    mixed = await client.start(twice.bind(a=41))
    await drain(client)
    waiting = await client.start(approve.bind(order=4242), id="hidden-approval")
    blocked = await client.start(total.bind(), after=[waiting])
    browser = browse("admin", types=["twice", "total"])

    pages = [*(page.path for page in NAVIGATION), "/jobs?q=status:failed", "/chains?q=status:failed", "/search?q=fuse"]
    pages += ["/search?q=hidden-key", "/search?q=secret", f"/chains/{blocked.id}", f"/chains/{mixed.id}"]
    for path in pages:
        page = await browser.text(path)
        for text in ("a secret", "refuse", "approve", "hidden-approval", hidden.id):
            assert text not in page, (path, text)
    assert "<tbody>" not in await browser.text("/jobs?q=type:refuse")
    assert "waits for 1 (1 not shown)" in await browser.text(f"/chains/{blocked.id}")
    for chain in (hidden, waiting):
        await browser.get(f"/chains/{chain.id}", status=404)
        await browser.get(f"/jobs/{chain.id}", status=404)
        await browser.get(f"/download?id={chain.id}&field=input", status=404)
        await browser.post("/change/retry", id=chain.id)
        await browser.post("/change/delete", id=chain.id)
    assert "add" not in (await browser.text(f"/chains/{mixed.id}")).partition("<main")[2]
    await browser.post("/change/delete", id=mixed.id, status=403)
    await browser.post("/change/pause", type="refuse", status=403)

    assert await client.audit() == []
    assert "hidden-approval" not in await browse("read", types=[]).text("/jobs")
    assert "</tr></thead>" not in await browse("read", types=[]).text("/chains")


async def test_redacted_errors_cannot_be_guessed_by_a_query(client: Client, browse: Open) -> None:
    await client.start(refuse.bind(reason="card 4111"))
    await drain(client)

    def redact(value: Any, field: str) -> Any:
        return "..." if field == "error" else value

    browser = browse("operate", redact=redact)

    for path in ("/jobs?q=error:4111", "/chains?q=error:4111", "/bulk/new?action=retry&q=error:4111"):
        page = await browser.text(path)
        assert "errors are redacted for you" in page
        assert "<tbody>" not in page
    assert await browser.post("/bulk/start", action="retry", q="error:4111") == "/bulk/new?action=retry&q=error%3A4111"
    page = await browser.text("/search?q=4111")
    assert "q=status" not in page
    assert "<tbody>" not in page
