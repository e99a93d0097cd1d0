"""Which requests are authorized, and what a page of another origin can do."""

import pytest

from holdfast import Client
from holdfast.dashboard import Access, dashboard
from holdfast.errors import StoreUnavailable
from tests.dashboard.conftest import Browser, Open


async def test_a_dashboard_without_a_check_of_viewers_is_refused(client: Client) -> None:
    with pytest.raises(ValueError, match="authorize"):
        dashboard(client)
    with pytest.raises(ValueError, match="role"):
        Access("root")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="types"):
        Access("read", types="add")

    await Browser(dashboard(client, insecure=True)).get("/")


async def test_every_answer_has_the_headers_that_forbid_inline_code_and_frames(browser: Browser) -> None:
    for path, status in (("/", 200), ("/nowhere", 404)):
        response = await browser.get(path, status=status)
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"


async def test_a_change_needs_a_page_of_the_same_origin(client: Client) -> None:
    browser = Browser(dashboard(client, token="a long enough token"))
    for headers in (
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://testserver"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
    ):
        await browser.post("/logout", headers=headers, status=403)
    for headers in (
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://testserver"},
        {"Origin": "https://testserver"},
    ):
        await browser.post("/logout", headers=headers)


async def test_a_token_opens_the_dashboard_and_a_cookie_keeps_it_open(client: Client) -> None:
    browser = Browser(dashboard(client, token="a long enough token"))

    response = await browser.get("/", status=303)
    assert response.headers["location"] == "/login?next=%2F"
    await browser.post("/login", token="another token", status=401)
    await browser.get("/", status=303)
    response = await browser.http.post(
        "/login",
        data={"token": "a long enough token", "next": "//evil.example/"},
        headers={"Origin": "http://testserver"},
    )

    assert response.headers["location"] == "/"
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "long enough" not in cookie
    await browser.get("/")
    browser.http.cookies.clear()
    await browser.get("/", headers={"Authorization": "Bearer a long enough token"})
    browser.http.cookies.set("holdfast_session", "99999999999.0000")
    await browser.get("/", status=303)


async def test_tokens_are_not_checked_after_too_many_wrong_ones(client: Client) -> None:
    browser = Browser(dashboard(client, token="a long enough token"))
    for _ in range(10):
        await browser.post("/login", token="wrong", status=401)

    await browser.post("/login", token="a long enough token", status=401)


async def test_a_viewer_without_access_sees_nothing(client: Client) -> None:
    async def no_access(_request: object) -> None:
        return None

    browser = Browser(dashboard(client, no_access))
    for path in ("/", "/live"):
        response = await browser.get(path, status=403)
        assert "Due" not in response.text


async def test_a_host_name_that_was_not_configured_is_refused(browse: Open) -> None:
    browser = browse(hosts=["localhost", "127.0.0.1", "::1"])

    await browser.get("/", status=403)
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
        await browser.get("/", headers={"Host": host})
    for host in ("localhost.evil.example", "evil.example:8000", ""):
        await browser.get("/", headers={"Host": host}, status=403)


async def test_static_files_are_compressed_and_cached_by_their_hash(browser: Browser) -> None:
    page = await browser.text("/")
    urls = [part.split('"')[0] for part in page.split('"/static/')[1:]]
    assert len(urls) >= 3
    for url in urls:
        response = await browser.get(f"/static/{url}")
        assert "immutable" in response.headers["cache-control"]
        assert response.headers["content-encoding"] == "gzip"
    await browser.get("/static/000000000000/dashboard.css", status=404)


async def test_the_page_of_an_outage_does_not_name_the_server(client: Client, browser: Browser) -> None:
    async def refused(*_args: object) -> None:
        raise StoreUnavailable("postgresql://db-7.internal/shop", "connection refused")

    client.get_job = refused  # type: ignore[method-assign, assignment]

    page = await browser.text("/jobs/7", status=503)
    assert "The store does not answer" in page
    assert "db-7" not in page
