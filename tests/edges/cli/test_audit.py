"""`audit`: what operators changed."""

import getpass

from tests.edges.cli.conftest import CommandLine


def test_the_changes_of_the_command_line_are_listed_with_their_user(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("add", a=1)
    holdfast("cancel", chain_id, "--reason", "a mistake")
    holdfast("retry", chain_id)
    holdfast("pause", "add")

    items = holdfast.json("audit")["items"]

    assert [(item["user"], item["action"], item["target"], item["reason"]) for item in items] == [
        (getpass.getuser(), "pause", "add", None),
        (getpass.getuser(), "retry", chain_id, None),
        (getpass.getuser(), "cancel", chain_id, "a mistake"),
    ]
    assert [item["action"] for item in holdfast.json("audit", chain_id)["items"]] == ["retry", "cancel"]
    assert [item["action"] for item in holdfast.json("audit", "--limit", "1")["items"]] == ["pause"]
    assert holdfast.json("audit", "--since", "2100-01-01") == {"items": []}


def test_the_table_shows_ids_whole_in_80_columns(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("add", a=1)
    assert "nothing found" in holdfast("audit").out
    holdfast("cancel", chain_id, "--reason", "a rather long reason that does not fit into the line of the table")

    shown = holdfast("audit", width=80).out

    assert chain_id in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
