"""Requests with any text in any parameter are answered."""

from urllib.parse import quote

import pytest

from holdfast import Client
from holdfast.dashboard.pages import ROUTES
from holdfast.testing import drain
from tests.dashboard.conftest import Browser
from tests.dashboard.shop import add, refuse

TEXTS = (
    "a\0b",
    "\U0001f600" * 50,
    "x" * 5000,
    "../../etc/passwd",
    "-1",
    "1e999",
    '"',
    "\\",
    "%",
    "{}",
    "'; drop table",
    "\r\nSet-Cookie: a=b",
)
NAMES = ("id", "name", "q", "cursor", "action", "field", "period", "state", "type", "job", "chain", "next")
QUERIED = ("type", "status", "error", "key", "age", "worker", "group", "chain")
FIELDS = (*NAMES, "key", "number", "output", "value", "step", "reason", "since", "until", "token")


async def test_any_parameter_is_answered(client: Client, browser: Browser) -> None:
    failed = await client.start(refuse.bind(reason="no"), id="7")
    await client.schedule("s", add.bind(a=1), every=3600)
    await drain(client)
    queries = [f"{name}={quote(text)}" for name in NAMES for text in (TEXTS[0], TEXTS[2])]
    queries += ["&".join(f"{name}={quote(text)}" for name in NAMES) for text in TEXTS]
    queries += [f"id={raw}&name={raw}&q={raw}&cursor={raw}" for raw in ("%FF%FE", "%ED%A0%80")]
    queries += [f"q={quote(f'{name}:{text}')}" for name in QUERIED for text in (TEXTS[0], TEXTS[2])]

    for route in ROUTES:
        if route.method == "GET":
            for query in queries:
                response = await browser.http.get(f"{route.path.replace('{id:path}', failed.id)}?{query}")
                assert response.status_code < 500, (route.path, query, response.text[-500:])
        else:
            for text in TEXTS:
                form: dict[str, str] = dict.fromkeys(FIELDS, text)
                for given in (
                    form,
                    {**form, "id": failed.id, "name": "s", "action": "retry", "type": "add", "job": failed.id},
                ):
                    headers = {"Sec-Fetch-Site": "same-origin"}
                    response = await browser.http.post(route.path, data=given, headers=headers)
                    assert response.status_code < 500, (route.path, text, response.text[-500:])
                    assert "a=b" not in response.headers.get_list("set-cookie")
    for text in TEXTS:
        response = await browser.http.get(f"/chains/{quote(text, safe='')}")
        assert response.status_code in (200, 404), text


@pytest.mark.parametrize(
    "path", ["/static/../view.py", "/static/x/../../view.py", "/static/%2e%2e/view.py", "/static/x/..%2fview.py"]
)
async def test_static_files_are_those_of_the_package_only(browser: Browser, path: str) -> None:
    assert (await browser.http.get(path)).status_code == 404
