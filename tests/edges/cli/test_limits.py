"""`limits` shows limits with their lanes; `limits set` and `limits reset` change their numbers."""

from collections.abc import Iterator

import pytest

from holdfast import Jobs, Limit, Order, Rate, SyncClient
from tests.edges.cli.conftest import CommandLine

jobs = Jobs()


@jobs.job(limits=[Limit("gpu", 2, by="customer"), Order("account")])
async def render(customer: int) -> None: ...


@pytest.fixture
def started(store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncClient]:
    """Two waiting jobs of one customer, and one of another."""
    monkeypatch.setenv("HOLDFAST_APP", "tests.edges.cli.test_limits:jobs")
    with SyncClient(store, jobs) as client:
        client.start_many([render.bind(7), render.bind(7), render.bind(8)])
        yield client


def test_limits_are_shown_with_their_lanes(holdfast: CommandLine, started: SyncClient) -> None:
    shown = {limit["name"]: limit for limit in holdfast.json("limits")["limits"]}

    gpu, account = shown["gpu"], shown["account"]
    assert (gpu["kind"], gpu["number"], gpu["declared"], gpu["override"]) == ("limit", 2, 2, False)
    assert [(lane["key"], lane["running"], lane["waiting"], lane["holders"]) for lane in gpu["lanes"]] == [
        ("7", 0, 2, []),
        ("8", 0, 1, []),
    ]
    assert (account["kind"], account["number"], [lane["waiting"] for lane in account["lanes"]]) == ("order", 1, [3])
    table = holdfast("limits", width=80).out
    assert all(name in table for name in ("gpu", "account", "limit", "order"))
    assert all(len(line) <= 80 for line in table.splitlines())


def test_a_limit_without_keys_has_one_line_and_a_rate_shows_its_period(holdfast: CommandLine, store: str) -> None:
    several = Jobs()

    @several.job(limits=[Limit("disk", 4), Rate("mail", 100, per=60, burst=10, by="to"), Rate("sms", 5, per=1)])
    async def notify(to: str) -> None: ...

    with SyncClient(store, several) as client:
        client.start_many([notify.bind("ada"), notify.bind("bob")])
    holdfast("limits", "set", "mail", "7")

    lines = holdfast("limits").out.splitlines()

    assert [line.split()[:5] for line in lines if "disk" in line] == [["disk", "limit", "4", "0", "2"]]
    assert any("7* per 1m, burst 10" in line for line in lines)
    assert any("5 per 1s, burst 1" in line for line in lines)
    assert [line.split()[1] for line in lines if line.startswith(" ")] == ["ada", "bob"], "the lanes of mail"


def test_limits_are_set_and_reset(holdfast: CommandLine, started: SyncClient) -> None:
    def numbers() -> tuple[int, dict[str, int]]:
        (gpu,) = [limit for limit in holdfast.json("limits")["limits"] if limit["name"] == "gpu"]
        return gpu["number"], {lane["key"]: lane["number"] for lane in gpu["lanes"]}

    assert holdfast.json("limits", "set", "gpu", "4") == {"limit": "gpu", "key": None, "number": 4}
    assert "for the key 7" in holdfast("limits", "set", "gpu", "0", "--key", "7", "--reason", "overload").out
    assert numbers() == (4, {"7": 0, "8": 4})

    holdfast("limits", "reset", "gpu", "--key", "7")
    holdfast("limits", "reset", "gpu")
    assert numbers() == (2, {"7": 2, "8": 2})

    entries = holdfast.json("audit")["items"]
    assert [entry["action"] for entry in entries] == ["reset_limit", "reset_limit", "set_limit", "set_limit"]
    assert "overload" in entries[2]["reason"]


def test_mistakes_are_refused(holdfast: CommandLine, started: SyncClient) -> None:
    assert "at least 0" in holdfast("limits", "set", "gpu", "--", "-1", exit=2).err
    assert "at least 0" in holdfast("limits", "set", "gpu", "-12", "--key", "7", exit=2).err
    assert "--kye" in holdfast("limits", "set", "gpu", "1", "--kye", "7", exit=2).err
    assert "order" in holdfast("limits", "set", "account", "2", exit=2).err
    assert "nope" in holdfast("limits", "set", "nope", "1", exit=3).err
    assert "nope" in holdfast("limits", "reset", "nope", exit=3).err
