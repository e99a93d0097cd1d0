"""`holdfast dashboard`: where it listens, who may open it, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from holdfast.cli.dashboard import is_loopback, listen
from tests.edges.cli.conftest import CommandLine
from tests.waiting import TIMEOUT

TOKEN = "a token that is long enough"

AUTHORIZE = """
from holdfast.dashboard import Access

async def authorize(request):
    return Access("read", user="ann") if request.headers.get("x-user") == "ann" else None
"""


@contextmanager
def serving(*arguments: str, **environment: str) -> Generator[str]:
    """The URL of a dashboard on a free port. It must end without an error after SIGTERM."""
    command = [sys.executable, "-m", "holdfast.cli", "dashboard", "--port", "0", "--json", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield json.loads(line)["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert TOKEN not in errors


def test_it_serves_loopback_and_checks_the_host(store: str) -> None:
    with serving() as url:
        assert url.startswith("http://127.0.0.1:")
        assert "Overview" in httpx.get(url, timeout=TIMEOUT).text
        assert httpx.get(url, timeout=TIMEOUT, headers={"Host": "evil.example"}).status_code == 403
        assert httpx.get(url, timeout=TIMEOUT, headers={"Host": "localhost:99"}).status_code == 200
        assert httpx.post(f"{url}workers/drain", data={"id": "x"}, timeout=TIMEOUT).status_code == 403
        with httpx.stream("GET", f"{url}live", timeout=TIMEOUT) as events:  # a connection that never ends by itself
            assert events.status_code == 200


def test_a_token_is_asked_for(store: str) -> None:
    with (
        serving("--root-path", "/jobs", HOLDFAST_DASHBOARD_TOKEN=TOKEN) as url,
        httpx.Client(timeout=TIMEOUT) as viewer,
    ):
        assert url.endswith("/jobs/")
        home = url.removesuffix("jobs/")  # a proxy removes the path
        login = viewer.get(home)
        assert (login.status_code, login.headers["location"].partition("?")[0]) == (303, "/jobs/login")
        same = {"Sec-Fetch-Site": "same-origin"}
        assert viewer.post(f"{home}login", data={"token": "wrong"}, headers=same).status_code == 401
        answer = viewer.post(f"{home}login", data={"token": TOKEN}, headers=same)
        cookie = next(each for each in answer.headers.get_list("set-cookie") if each.startswith("holdfast_session"))
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/jobs/"))
        session = {"Cookie": cookie.partition(";")[0]}
        assert "Overview" in viewer.get(home, headers=session).text


def test_connections_wait_before_the_server_accepts_them() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname(), TIMEOUT):
        pass


def test_a_function_authorizes(store: str, tmp_path: Path) -> None:
    (tmp_path / "web.py").write_text(AUTHORIZE)
    with serving("--authorize", "web:authorize", "--read-only") as url:
        assert httpx.get(url, timeout=TIMEOUT).status_code == 403
        page = httpx.get(url, timeout=TIMEOUT, headers={"x-user": "ann"}).text
        assert "read-only" in page
        assert "ann" in page


def test_unsafe_and_wrong_arguments_are_refused(store: str, holdfast: CommandLine) -> None:
    refusals = {
        ("--host", "0.0.0.0"): "give --token or --authorize",  # noqa: S104 - it is refused
        ("--host", "example.org"): "give --token or --authorize",
        ("--token", TOKEN, "--authorize", "web:authorize"): "not both",
        ("--token", "short"): "at least",
        ("--authorize", "web"): "there is no module",
        ("--authorize", "json:nothing"): "there is no function 'nothing' in json",
        ("--authorize", "a b"): "write MODULE:FUNCTION",
        ("--store", "memory://"): "one process only",
    }
    for arguments, text in refusals.items():
        assert text in holdfast("dashboard", *arguments, exit=2).err, arguments
    assert "cannot listen" in holdfast("dashboard", "--host", "203.0.113.1", "--token", TOKEN, exit=2).err


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("::", False),  # noqa: S104
     ("10.0.0.1", False), ("localhost.example.org", False)],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
