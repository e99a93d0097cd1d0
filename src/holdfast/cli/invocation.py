"""One run of a command: its settings, its client, and its answer as text or JSON."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from holdfast.cli.exit_codes import Exit, Mistake, exit_of
from holdfast.cli.load_app import load_jobs
from holdfast.cli.passwords import hide, passwords_in
from holdfast.cli.printable import printable, write_json
from holdfast.cli.settings import CommandSettings, Flags, resolve
from holdfast.cli.sqlite_file import check_file
from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.errors import HoldfastError
from holdfast.queue.queue_type import PREFIX
from holdfast.registry.jobs import Jobs

T = TypeVar("T")

WIDE = 200


def console(*, stderr: bool = False) -> Console:
    """A console that prints data unchanged: no markup, no emoji codes, no automatic colours."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        # In a file or a pipe no column is shortened.
        made.width = WIDE
    return made


class Invocation:
    """The settings, the client and the output of one command."""

    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.json = flags.json
        self.out = console()
        self.err = console(stderr=True)

    @cached_property
    def settings(self) -> CommandSettings:
        """The store, its wake-ups and the application."""
        return resolve(self.flags)

    @cached_property
    def jobs(self) -> Jobs:
        """The job types of the application. Only commands that start or run jobs need them."""
        return load_jobs(self.settings.need_app(), self.settings.app_named)

    @cached_property
    def declared_only(self) -> frozenset[str]:
        """The types that the application declares without a handler: their jobs wait for an external completion.

        Empty without --app on this command line: a command that only reads does not import code because of the
        environment or a file. Named queues are left out, because their handlers are not in the registry.
        """
        if self.flags.app is None and self.flags.host is None:
            return frozenset()
        try:
            return frozenset(
                job_type.name for job_type in self.jobs
                if job_type.function is None and not job_type.name.startswith(PREFIX)
            )  # fmt: skip
        except Mistake as mistake:
            self.warn(str(mistake))
            return frozenset()

    @contextmanager
    def client(self, jobs: Jobs | None = None, *, creates: bool = False) -> Generator[SyncClient]:
        """A connected client. Without `creates`, a SQLite file that does not exist is an error and is not created."""
        address = self.address
        with _refused():
            if not creates:
                check_file(address)
            client = SyncClient(address, jobs)
            client.open()
        try:
            yield client
        finally:
            client.close()

    def attend(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Run a coroutine with a connected client until it ends, or until Ctrl-C cancels it.

        On an event loop, because in blocking code a KeyboardInterrupt can be lost in a finalizer or in a callback of a
        driver.
        """
        address = self.address
        with _refused():
            check_file(address)
            client = Client(address)
        return asyncio.run(_attend(client, work))

    @cached_property
    def address(self) -> str:
        """The address of the store. A password in the arguments causes a warning: other users can read them."""
        address = self.settings.need_store()
        if self.flags.store is not None and passwords_in(self.flags.store):
            self.warn(
                "a password on the command line can be read by others on this machine; use HOLDFAST_STORE or a file"
            )
        return address

    def answer(self, document: Any, *shown: RenderableType) -> None:
        """Print the document with --json, otherwise the text."""
        if self.json:
            self.write(write_json(document, indent=2 if sys.stdout.isatty() else None))
        else:
            for each in shown:
                # Long lines are not wrapped: scripts search for text in them.
                self.out.print(each, soft_wrap=isinstance(each, Text | str))

    def write(self, line: str) -> None:
        """Write a line to stdout, unchanged."""
        self.out.file.write(f"{line}\n")
        self.out.file.flush()

    def warn(self, text: str) -> None:
        """Print a warning to stderr."""
        self.err.print(f"warning: {text}", style="yellow", soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a remark to stderr."""
        self.err.print(printable(text), style="dim", soft_wrap=True)

    def refuse(self, error: HoldfastError | Mistake) -> NoReturn:
        """End with an error: a message on stderr, and with --json a document on stdout."""
        code = exit_of(error)
        text = self.complain(error)
        if self.json:
            self.write(write_json({"error": {"kind": type(error).__name__, "message": text, "exit": int(code)}}))
        raise typer.Exit(code)

    def complain(self, error: HoldfastError | Mistake) -> str:
        """Print an error to stderr, and return its text with passwords masked."""
        text = hide(str(error), self._passwords())
        self.err.print(f"error: {printable(text)}", style="red", soft_wrap=True)
        return text

    def end(self, code: Exit) -> None:
        """End with this exit code, unless it is 0."""
        if code is not Exit.DONE:
            raise typer.Exit(code)

    def _passwords(self) -> Sequence[str]:
        try:
            return self.settings.passwords
        except Mistake:
            return passwords_in(self.flags.store or "")


async def _attend(client: Client, work: Callable[[Client], Awaitable[T]]) -> T:
    with _refused():
        await client.open()
    try:
        return await work(client)
    finally:
        await client.close()


@contextmanager
def _refused() -> Generator[None]:
    """Report an invalid address as a Mistake."""
    try:
        yield
    except ValueError as error:
        raise Mistake(str(error)) from error
