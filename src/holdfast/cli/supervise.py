"""`supervise`: worker processes that come and go with the backlog."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

import typer

from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Exit, Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.passwords import hide, passwords_in
from holdfast.cli.settings import settle
from holdfast.cli.worker import Level, jobs_to_run
from holdfast.client.sync_client import SyncClient
from holdfast.config.listen_address import parse_listen
from holdfast.engine.observers import log
from holdfast.errors import StoreUnavailable
from holdfast.registry.jobs import Jobs
from holdfast.supervisor import Group, Logging, Supervisor

CHILD = "holdfast.cli.child"

_IN_VAIN = ("authentication failed", "no password supplied", "NOAUTH", "WRONGPASS", "NOPERM", "`holdfast migrate`")
"""How a store says that waiting will not help: a password is wrong, or there are no tables."""


@command
def supervise(
    run: Invocation,
    target: Annotated[
        str | None, typer.Argument(metavar="MODULE:JOBS", help="The job types, like --app.", show_default=False)
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve /healthz, /readyz, /backlog and /metrics; else [health] listen."),
    ] = None,
    log_level: Annotated[
        Level | None, typer.Option(help="How much is logged, to stderr; else [logging] level, else info.")
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log a JSON object a line.")] = False,
) -> None:
    """Run worker processes, as many as the due jobs need, until SIGTERM or Ctrl-C. SIGHUP reads the file again.

    How many, and on what terms, is said by [workers] of the file.
    """
    settings = run.settings.config.settings
    logging = Logging(
        level=log_level or settings.logging.level, json=log_json or run.json or settings.logging.json
    )  # fmt: skip
    log_to_stderr(level=logging.level, as_json=logging.json)
    app = target or run.settings.app
    jobs = jobs_to_run(run, target)
    with checked():
        settings.check(jobs)
    address = run.address
    _check_store(address)
    with checked():
        supervisor = Supervisor(
            address,
            app,
            groups=settings.groups,
            work_kinds=settings.work_kinds,
            listen=settings.listen if listen is None else parse_listen(listen),
            logging=logging,
            reload=lambda: _read_again(run, jobs, address=address, app=None if target else app),
            entry=CHILD,
            init=os.getpid() == 1,
        )
    try:
        asyncio.run(supervisor.run())
    except OSError as error:
        raise Mistake(f"cannot listen: {error.strerror or error}") from error
    run.answer({"stopped": True, "clean": supervisor.clean})
    run.end(Exit.DONE if supervisor.clean else Exit.FAILED)


def _check_store(address: str) -> None:
    """What is wrong with the store is said here, once, and not by every process; one that is away may come back.

    Where somebody has to do something first it is StoreUnavailable.
    """
    try:
        with checked(), SyncClient(address) as client:
            client.get_job("none")  # whatever it answers, its tables are there
    except StoreUnavailable as error:
        if any(words in str(error) for words in _IN_VAIN):
            raise
        log.warning("%s; starting all the same", hide(str(error), passwords_in(address)))


def _read_again(run: Invocation, jobs: Jobs, *, address: str, app: str | None) -> Sequence[Group]:
    """The groups of the file as it is now. `app` is the one that it, or the environment, named."""
    try:
        settled = settle(run.flags)
    except Mistake as error:
        raise ValueError(str(error)) from None
    began, now = run.settings.config.settings, settled.config.settings
    now.check(jobs)
    fixed = {
        "the store": settled.store is not None and settled.need_store() != address,
        "the app": app is not None and settled.app not in (None, app),
        "[work_kinds]": now.work_kinds != began.work_kinds,
        "[logging]": now.logging != began.logging,
        "[health]": now.listen != began.listen,
    }
    for what in (what for what, changed in fixed.items() if changed):
        log.warning("%s cannot change while the supervisor runs: stop it and start it again", what)
    return now.groups
