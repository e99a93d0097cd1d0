"""Tables in a terminal of 80 columns."""

from __future__ import annotations

import pytest

from holdfast import SyncClient
from holdfast.cli.table_layout import Sheet
from tests.edges.cli.conftest import CommandLine, working
from tests.edges.cli.shop import add, burst, total

LONG = "the printer on the third floor is out of paper and the staff does not know where more of it is kept"


@pytest.fixture
def ids(client: SyncClient, store: str) -> list[str]:
    """Chains in many states, one with a long error."""
    failed = client.start(burst.bind(reason=LONG).options(key="a-key-of-some-length"))
    with working(store), pytest.raises(Exception, match="failed"):
        client.wait(failed, timeout=60)
    later = client.start(add.bind(a=1).options(delay=3600))
    blocked = client.start(total.bind().options(after=[later.id]))
    return [failed.id, later.id, blocked.id]


@pytest.mark.parametrize("command", [["status"], ["list"], ["list", "--jobs"]], ids=" ".join)
def test_types_and_statuses_are_whole_in_80_columns(holdfast: CommandLine, ids: list[str], command: list[str]) -> None:
    shown = holdfast(*command, width=80).out

    assert all(len(line) <= 80 for line in shown.splitlines())
    for text in ("type", "burst", "add", "total", "failed", "blocked", "scheduled"):
        assert text in shown


@pytest.mark.parametrize("command", [["list"], ["list", "--jobs"], ["cancel", "--created-since", "1h", "--dry-run"]])
def test_ids_are_whole_in_80_columns(holdfast: CommandLine, ids: list[str], command: list[str]) -> None:
    shown = holdfast(*command, width=80).out

    assert all(len(line) <= 80 for line in shown.splitlines())
    for id in ids[1:] if "cancel" in command else ids:
        assert id in shown
        assert id in holdfast("show", id, width=80).out


def test_an_id_is_whole_beside_long_types_and_errors() -> None:
    sheet = Sheet("type", "status", "job", "attempt", "key", "age", "error", "id", numbers=("job", "attempt"))
    id = "01a1e608-3d52-7442-9372-c4e54fb234da"
    sheet.add_row("send-invoice-mail > archive-the-invoice", "cancelled", "2", "3", "customer-7", "3m20s", LONG, id)

    table = sheet.laid_out(80)

    widths = {str(column.header): column.width or 0 for column in table.columns}
    assert widths["id"] == len(id)
    assert widths["error"] >= 10
    assert sum(widths.values()) + 2 * (len(widths) - 1) <= 80


def test_an_error_wraps_into_a_column_that_can_be_read(holdfast: CommandLine, ids: list[str]) -> None:
    shown = holdfast("list", "--type", "burst", width=80).out

    assert max(len(line) for line in shown.splitlines()) > 60
    assert all(text in shown for text in LONG.split())


def test_a_column_in_which_nothing_stands_is_left_out(holdfast: CommandLine, ids: list[str]) -> None:
    assert "error" not in holdfast("list", "--type", "add").out
    assert "key" not in holdfast("list", "--type", "add").out
    assert "key" in holdfast("list", "--type", "burst").out
    assert "cancelled" not in holdfast("status").out


def test_even_with_every_count_and_a_long_type_nothing_is_cut() -> None:
    statuses = ("blocked", "pending", "running", "completed", "failed", "cancelled", "scheduled", "oldest due")
    sheet = Sheet("type", *statuses, "", numbers=statuses)
    sheet.add_row("send-invoice-mail", *("1,234" for _ in statuses), "paused")

    table = sheet.laid_out(80)

    widths = [column.width or 0 for column in table.columns]
    assert sum(widths) + 2 * (len(widths) - 1) <= 80
    assert len(widths) == 10
    assert all(width >= 5 for width in widths[1:])
