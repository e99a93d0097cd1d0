"""`supervise`: worker processes, as many as the backlog needs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

import typer

from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Exit, Mistake
from holdfast.cli.exporters import exporter
from holdfast.cli.invocation import Invocation
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.passwords import hide, passwords_in
from holdfast.cli.settings import resolve
from holdfast.cli.worker import jobs_to_run
from holdfast.cli.worker_options import LogJson, LogLevel, Target
from holdfast.client.sync_client import SyncClient
from holdfast.config.listen_address import parse_listen
from holdfast.engine.observers import log
from holdfast.errors import StoreUnavailable
from holdfast.registry.jobs import Jobs
from holdfast.supervisor import Group, Logging, Supervisor

CHILD = "holdfast.cli.child"

_PERMANENT = ("authentication failed", "no password supplied", "NOAUTH", "WRONGPASS", "NOPERM", "`holdfast migrate`")
"""Parts of the texts of errors that a retry cannot solve: a wrong password, missing rights, missing tables."""


@command
def supervise(
    run: Invocation,
    target: Target = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve /healthz, /readyz, /backlog and /metrics. Default: listen in [health]."
        ),
    ] = None,
    log_level: LogLevel = None,
    log_json: LogJson = False,
) -> None:
    """Run worker processes, as many as the due jobs need, until SIGTERM or Ctrl-C. SIGHUP reads the file again.

    [workers] in the file sets how many, and their options.
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
            exporter=exporter(),
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
    """Report a problem of the store once, before the processes start.

    An outage is only logged, because the store may come back. A problem that needs an operator is raised.
    """
    try:
        with checked(), SyncClient(address) as client:
            client.get_job("none")  # fails if the tables are missing
    except StoreUnavailable as error:
        if any(part in str(error) for part in _PERMANENT):
            raise
        log.warning("%s; the supervisor starts and waits for it", hide(str(error), passwords_in(address)))


def _read_again(run: Invocation, jobs: Jobs, *, address: str, app: str | None) -> Sequence[Group]:
    """The groups in the current file. `app` is the application that the file or the environment named at the start."""
    try:
        current = resolve(run.flags)
    except Mistake as error:
        raise ValueError(str(error)) from None
    began, now = run.settings.config.settings, current.config.settings
    now.check(jobs)
    fixed = {
        "the store": current.store is not None and current.need_store() != address,
        "the app": app is not None and current.app not in (None, app),
        "[work_kinds]": now.work_kinds != began.work_kinds,
        "[logging]": now.logging != began.logging,
        "[health]": now.listen != began.listen,
    }
    for what in (what for what, changed in fixed.items() if changed):
        log.warning("%s cannot change while the supervisor runs: stop it and start it again", what)
    return now.groups
