"""`dashboard`: serve the web dashboard."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.load_app import load_function
from holdfast.cli.sqlite_file import check_file
from holdfast.client.client import Client
from holdfast.stores.sharded.address import each_address

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PORT = 8800
TOKEN_VARIABLE = "HOLDFAST_DASHBOARD_TOKEN"


@command
def dashboard(
    run: Invocation,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port. 0 takes a free one.")] = PORT,
    token: Annotated[
        str | None,
        typer.Option(help=f"Ask viewers for this token, which allows everything. Default: {TOKEN_VARIABLE}."),
    ] = None,
    authorize: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="Called with each request. Returns the Access of the viewer."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow no changes.")] = False,
    root_path: Annotated[str, typer.Option(metavar="PATH", help="The path under which a proxy serves it.")] = "",
) -> None:
    """Serve the web dashboard until Ctrl-C.

    It listens on loopback, where every user of this machine may open it. Another address needs --token or --authorize.
    """
    token = _token(run, token, authorize)
    if not is_loopback(host) and token is None and authorize is None:
        raise Mistake(f"{host} can be reached by others: give --token or --authorize MODULE:FUNCTION")
    address = run.address
    if any(each.startswith("memory:") for each in each_address(address)):
        raise Mistake("a memory:// store exists in one process only: the dashboard would show nothing")
    check_file(address)
    # Imported here: no other command needs the extra.
    from holdfast.dashboard import dashboard as make_dashboard
    from holdfast.dashboard.security import LOOPBACK_HOSTS

    with checked():
        client = Client(address, run.jobs if run.flags.app is not None else None)
        app = make_dashboard(
            client,
            None if authorize is None else load_function(authorize, f"--authorize {authorize!r}"),
            token=token,
            insecure=token is None and authorize is None,
            read_only=read_only,
            hosts=LOOPBACK_HOSTS | {host.lower()} if is_loopback(host) else None,
        )
    listening = listen(host, port)
    asyncio.run(_serve(run, client, app, listening, root_path="/" + path if (path := root_path.strip("/")) else ""))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on this address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()  # before the URL is printed: connections wait until the server accepts them
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise Mistake(f"cannot listen on {host}, port {port}: {error.strerror or error}") from error
    return listening


def _token(run: Invocation, given: str | None, authorize: str | None) -> str | None:
    """The token of the command line, else that of the environment, unless a function decides."""
    if given is not None and authorize is not None:
        raise Mistake("give --token or --authorize, not both")
    if given is not None:
        run.warn(f"a token on the command line can be read by others on this machine; use {TOKEN_VARIABLE}")
        return given
    return None if authorize is not None else os.environ.get(TOKEN_VARIABLE) or None


async def _serve(run: Invocation, client: Client, app: ASGIApp, listening: socket.socket, *, root_path: str) -> None:
    from holdfast.cli.dashboard_server import serve

    host, port = listening.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{root_path}/"
    with checked():
        await client.open()
    try:
        await client.get_job("none")  # fails if the tables are missing
        async with serve(app, listening, root_path=root_path) as server:
            run.answer({"url": url}, tables.text(f"dashboard on {url}"))
            await server.ended()
    finally:
        await client.close()
