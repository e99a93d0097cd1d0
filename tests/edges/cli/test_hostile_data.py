"""Text of jobs never controls the terminal, and is never read as markup, in any command."""

import pytest

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine, working
from tests.edges.cli.shop import refuse
from tests.edges.cli.test_printable import HOSTILE

MARKUP = "[bold red]loud[/bold red] [/] :smile: [link=http://evil.example]here[/link]"
# No store takes a NUL or a lone surrogate.
ALL = " ".join(text for name, text in HOSTILE.items() if name not in ("NUL", "lone surrogate"))


@pytest.fixture
def ids(client: SyncClient, store: str) -> list[str]:
    """Chains whose key, input and error are all hostile."""
    bounds = [refuse.bind(reason=text).options(key=text) for text in (ALL, MARKUP)]
    chains = client.start_many(bounds)
    with working(store):
        for chain in chains:
            with pytest.raises(Exception, match="failed"):
                client.wait(chain, timeout=60)
    return [chain.id for chain in chains]


def test_every_command_that_shows_jobs_shows_them_harmless(holdfast: CommandLine, ids: list[str]) -> None:
    answers = [holdfast("list"), holdfast("list", "--jobs"), holdfast("status"), holdfast("doctor")]
    for id in ids:
        answers += [holdfast("show", id, "--payload"), holdfast("report", id), holdfast("wait", id, exit=1)]
        answers += [holdfast("show", id, "--payload", "--json"), holdfast("report", id, "--json")]
    for text in HOSTILE.values():
        answers.append(holdfast("show", text, exit=2 if {"\0", "\ud800"} & set(text) else 3))

    for answer in answers:
        for line in (answer.out + answer.err).split("\n"):
            assert line.isprintable(), repr(line)


def test_markup_is_shown_as_it_was_written(holdfast: CommandLine, ids: list[str]) -> None:
    for command in (["list"], ["show", ids[-1]], ["report", ids[-1]]):
        assert MARKUP in holdfast(*command).out


def test_no_line_of_an_error_passes_for_a_line_of_ours(holdfast: CommandLine, ids: list[str]) -> None:
    for command in (["report", ids[0]], ["show", ids[0]]):
        assert not any(line.startswith("forged line") for line in holdfast(*command).out.split("\n"))
    assert not any(line.startswith("forged line") for line in holdfast("wait", ids[0], exit=1).err.split("\n"))
