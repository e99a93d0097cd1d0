"""One run of a command: its settings, its client, and how it answers, to people or to programs."""

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
from holdfast.cli.files import check_file
from holdfast.cli.load_app import load_jobs
from holdfast.cli.passwords import hide, passwords_in
from holdfast.cli.printable import printable, write_json
from holdfast.cli.settings import Flags, Settings, settle
from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.errors import HoldfastError
from holdfast.queue.queue_type import PREFIX
from holdfast.registry.jobs import Jobs

T = TypeVar("T")

WIDE = 200


def console(*, stderr: bool = False) -> Console:
    """A console that takes data for what it is: no markup, no emoji codes, no guesses at what to colour."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        # Into a file or a pipe nothing is cut.
        made.width = WIDE
    return made


class Invocation:
    """What a command works with."""

    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.json = flags.json
        self.out = console()
        self.err = console(stderr=True)

    @cached_property
    def settings(self) -> Settings:
        """Where the store, its wake-ups and the app are."""
        return settle(self.flags)

    @cached_property
    def jobs(self) -> Jobs:
        """The application's job types. Only what starts or runs jobs needs them."""
        return load_jobs(self.settings.need_app(), self.settings.app_named)

    @cached_property
    def declared_only(self) -> frozenset[str]:
        """The types that the app declares without a handler: their jobs wait for a completion, not for a worker.

        Empty unless --app names the app on this command line: a command that only reads imports no code because of the
        environment or a file. Queues are left out, since their handlers are elsewhere.
        """
        if self.flags.app is None:
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
        """A connected client. Unless it `creates`, a store that is not there yet is not made by looking at it."""
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
        """Do with a connected client what may take until Ctrl-C, which cancels it.

        On an event loop: raised in blocking code, wherever that is, Ctrl-C can be lost where nobody passes it on, in a
        finalizer or a driver's callback.
        """
        address = self.address
        with _refused():
            check_file(address)
            client = Client(address)
        return asyncio.run(_attend(client, work))

    @cached_property
    def address(self) -> str:
        """The store's address. A password among the arguments earns a warning: other users can read them."""
        address = self.settings.need_store()
        if self.flags.store is not None and passwords_in(self.flags.store):
            self.warn(
                "a password on the command line can be read by others on this machine; use HOLDFAST_STORE or a file"
            )
        return address

    def answer(self, document: Any, *shown: RenderableType) -> None:
        """Answer with the document for programs, or with what is shown to people."""
        if self.json:
            self.write(write_json(document, indent=2 if sys.stdout.isatty() else None))
        else:
            for each in shown:
                # A line of text stays one, however long an address makes it: others may look for words in it.
                self.out.print(each, soft_wrap=isinstance(each, Text | str))

    def write(self, line: str) -> None:
        """A line on stdout, as it is."""
        self.out.file.write(f"{line}\n")
        self.out.file.flush()

    def warn(self, text: str) -> None:
        """Tell people something beside the answer."""
        self.err.print(f"warning: {text}", style="yellow", soft_wrap=True)

    def note(self, text: str) -> None:
        """The same, when nothing is wrong."""
        self.err.print(printable(text), style="dim", soft_wrap=True)

    def refuse(self, error: HoldfastError | Mistake) -> NoReturn:
        """End with an error: a sentence on stderr, and for programs a document on stdout."""
        code = exit_of(error)
        text = self.complain(error)
        if self.json:
            self.write(write_json({"error": {"kind": type(error).__name__, "message": text, "exit": int(code)}}))
        raise typer.Exit(code)

    def complain(self, error: HoldfastError | Mistake) -> str:
        """Tell people of an error; answers what may be shown of it."""
        text = hide(str(error), self._passwords())
        self.err.print(f"error: {printable(text)}", style="red", soft_wrap=True)
        return text

    def end(self, code: Exit) -> None:
        """End here, unless all is well."""
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
    """What is wrong with an address, the person typed."""
    try:
        yield
    except ValueError as error:
        raise Mistake(str(error)) from error
