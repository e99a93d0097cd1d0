"""The command line in this process, on a SQLite file of its own, with a worker beside it if a test needs one."""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from holdfast import Client, SyncClient, Worker
from holdfast.cli.app import app
from tests.edges.cli.shop import jobs
from tests.servers.sqlite import migrated_file

APP = "tests.edges.cli.shop:jobs"


@dataclass(frozen=True, slots=True)
class Answer:
    """The output and the exit code of a command."""

    exit: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`holdfast`, called like a function."""

    store: str

    def __call__(self, *arguments: str, input: str | None = None, exit: int = 0, width: int = 500) -> Answer:
        """Run a command, which must end with this exit code and without a traceback."""
        result = CliRunner().invoke(app, list(arguments), input=input, env={"COLUMNS": str(width)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == exit, (result.stdout, result.stderr)
        assert "Traceback" not in result.stderr
        return Answer(result.exit_code, result.stdout, result.stderr)

    def json(self, *arguments: str, exit: int = 0) -> Any:
        """The JSON document that a command prints."""
        return self(*arguments, "--json", exit=exit).document

    def start(self, type: str, *arguments: str, **input: Any) -> str:
        """Start a chain and return its id."""
        started: dict[str, str] = self.json("start", type, "--input", json.dumps(input), *arguments)
        return started["id"]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """The command `worker` adds a log handler to this process. Remove it after the test."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store that exists."""
    monkeypatch.chdir(tmp_path)
    address = migrated_file(tmp_path / "jobs.db")
    monkeypatch.setenv("HOLDFAST_STORE", address)
    monkeypatch.setenv("HOLDFAST_APP", APP)
    return address


@pytest.fixture
def holdfast(store: str) -> CommandLine:
    return CommandLine(store)


@pytest.fixture
def client(store: str) -> Iterator[SyncClient]:
    with SyncClient(store, jobs) as client:
        yield client


@pytest.fixture
def worker(store: str) -> Iterator[None]:
    """A worker that runs during the whole test."""
    with working(store):
        yield


@contextmanager
def working(store: str) -> Generator[None]:
    """A worker in a thread while the body runs."""
    begun = threading.Event()
    stop: list[Callable[[], object]] = []

    async def work() -> None:
        async with Client(store, jobs) as client:
            made = Worker(client, concurrency=4)
            loop = asyncio.get_running_loop()
            stop.append(lambda: loop.call_soon_threadsafe(made.stop))
            begun.set()
            await made.run()

    thread = threading.Thread(target=asyncio.run, args=[work()])
    thread.start()
    assert begun.wait(60)
    try:
        yield
    finally:
        with suppress(RuntimeError):  # a test has drained the worker, so its event loop is closed
            stop[0]()
        thread.join(60)
        assert not thread.is_alive()
