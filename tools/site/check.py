"""Open the built site in a browser: `make docs-check`, after `make docs`.

Every page: no broken link, no error in the console, no request to another host, nothing serious from axe, and no
sideways scrolling on a phone. Some pages: keyboard, search, dark mode, copy buttons, and reading without JavaScript.
"""

# Playwright and axe do not type everything that they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

from tests.browser.installed import BROWSER
from tools.site.links import broken_links

SITE = Path("build/site")


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Write no line per request."""


@contextmanager
def served(site: Path) -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


async def check_pages(browser: Browser, url: str, paths: list[str]) -> list[str]:
    """Problems of the pages on a large screen and on a phone."""
    page = await browser.new_page()
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith((url, "data:")) else found.append(asked.url))
    problems: list[str] = []
    for path in paths:
        await page.set_viewport_size({"width": 1280, "height": 900})
        await page.goto(url + path)
        results: dict[str, Any] = (await Axe().run(page, options={"resultTypes": ["violations"]})).response
        found += [
            f"axe {each['id']}: {each['nodes'][0]['html'][:160]}"
            for each in results["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        await page.set_viewport_size({"width": 390, "height": 844})
        wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if wide > 0:
            found.append(f"is {wide} pixels wider than a phone")
        problems += [f"{path}: {problem}" for problem in found]
        found.clear()
    await page.close()
    return problems


async def check_behaviour(browser: Browser, url: str) -> list[str]:
    """Problems of what a reader does: search, keys, dark mode, copying, and no JavaScript."""
    found: list[str] = []
    page = await browser.new_page(color_scheme="dark")
    await page.goto(f"{url}/docs/tutorial/")
    if await _brightness(page) > 80:
        found.append("the page is bright although the reader prefers dark")
    if not await page.locator("button.copybtn").count():
        found.append("code blocks have no copy button")
    await page.keyboard.press("Tab")
    if "#" not in str(await page.evaluate("document.activeElement.getAttribute('href')")):
        found.append("the first Tab does not reach the link that skips the navigation")
    await page.locator("input.sidebar-search").first.fill("outbox")
    await page.keyboard.press("Enter")
    try:
        await page.locator("ul.search li a").first.wait_for(timeout=30_000)
    except Exception as error:
        found.append(f"the search for outbox finds nothing: {error}")
    await page.close()
    plain = await browser.new_page(java_script_enabled=False)
    await plain.goto(f"{url}/docs/tutorial/")
    if not await plain.locator("article h1").is_visible() or not await plain.locator("article pre").first.is_visible():
        found.append("the text is not visible without JavaScript")
    if not await plain.locator("nav a, .sidebar-tree a").count():
        found.append("there is no navigation without JavaScript")
    await plain.close()
    return found


async def _brightness(page: Page) -> float:
    colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    numbers = [float(part) for part in str(colour).strip("rgba()").split(",")[:3]]
    return sum(numbers) / 3


async def check_in_browser(url: str, paths: list[str]) -> list[str]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        found = await check_behaviour(browser, url)
        found += await check_pages(browser, url, paths)
        await browser.close()
    return found


def main() -> int:
    if not (SITE / "index.html").exists():
        print("there is no site yet: run `make docs`")
        return 1
    if BROWSER is None:
        print("there is no browser: run `make browser`")
        return 1
    found = broken_links(SITE)
    names = sorted(path.relative_to(SITE).parent.as_posix() for path in SITE.rglob("index.html"))
    paths = ["/" if name == "." else f"/{name}/" for name in names]
    wanted = sys.argv[1:] or paths
    with served(SITE) as url:
        found += asyncio.run(check_in_browser(url, wanted))
    print("\n".join(found) or f"{len(wanted)} pages without a problem")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
