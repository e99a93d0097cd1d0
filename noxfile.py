"""The matrix of supported versions, with the interpreters and servers of this machine: `python -m nox --list`.

`make matrix` runs the sessions `suite` and `servers`. Each session has the environments of the tool that it calls.
"""

from __future__ import annotations

import nox

from tools import django, lowest, matrix, servers

nox.options.sessions = ["suite", "servers"]
PYTHONS = matrix.interpreters()
SERVERS = servers.servers()


@nox.session(python=False)
@nox.parametrize("minor", sorted(PYTHONS), ids=[f"3.{minor}" for minor in sorted(PYTHONS)])
def suite(session: nox.Session, minor: int) -> None:
    """The whole suite on one interpreter. Arguments after `--` select tests."""
    code, _ = matrix.run(PYTHONS[minor], minor, session.posargs)
    _check(session, code)


@nox.session(name="servers", python=False)
@nox.parametrize("server", list(SERVERS), ids=list(SERVERS))
def each_server(session: nox.Session, server: str) -> None:
    """The conformance cases on one server."""
    _check(session, servers.run(*SERVERS[server]))


@nox.session(name="django", python=False)
@nox.parametrize("minor", sorted(PYTHONS), ids=[f"3.{minor}" for minor in sorted(PYTHONS)])
def each_django(session: nox.Session, minor: int) -> None:
    """The Django integration with the Django of one interpreter."""
    code, _ = django.run(PYTHONS[minor], minor)
    _check(session, code)


@nox.session(name="lowest", python=False)
def lowest_releases(session: nox.Session) -> None:
    """The oldest release of every dependency."""
    _check(session, lowest.main(session.posargs))


def _check(session: nox.Session, code: int) -> None:
    if code != 0:
        session.error(f"the tests ended with {code}")
