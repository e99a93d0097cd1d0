"""Passwords in addresses are found, so that they can be hidden."""

import pytest

from holdfast.cli.passwords import hide, masked, passwords_in
from tests.edges.cli.conftest import CommandLine


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("postgresql://app:s3cret@db/x", ["s3cret"]),
        ("redis://:s3cret@localhost:6379/0", ["s3cret"]),
        ("postgresql://app:p%40ss@db/x", ["p%40ss", "p@ss"]),
        ("postgresql://db/x?user=app&password=s3cret", ["s3cret"]),
        ("redis://h?sslkey=k&auth_token=t0ken", ["t0ken"]),
        ("postgresql://app:s3cret@[broken/x", ["s3cret"]),
        ("postgresql://app:one@db/x?replica=postgresql%3A%2F%2Freader%3Atwo%40copy%2Fx", ["one", "two"]),
        ("postgresql://app:s3/cret@db/x", ["s3/cret"]),
        ("postgresql://app:s3@cret@db/x", ["s3@cret"]),
        ("redis://:s3#cret@db/0", ["s3#cret"]),
        ("redis://:s3?cret@db/0", ["s3?cret"]),
        ("postgresql://app:s3\u2100cret@db/x", ["s3\u2100cret"]),
        ("sqlite:///jobs.db?wakeups=redis://:s3#cret@db", ["//:s3#cret"]),
        ("host=db password=s3&cret user=app", ["s3&cret"]),
        ("host=db password = 's3 cret' user=app", ["'s3 cret'"]),
        ("app:s3cret@db", ["s3cret"]),
        ("redis://app:s3cret", ["s3cret"]),
        ("redis://app:123456", ["123456"]),
        ("redis://app:s3/cret/0?x=1", ["s3/cret/0?x=1", "s3"]),
        ("postgresql://one:5432,two:s3,cret", ["s3,cret"]),
        ("redis://app:s3%ret", ["s3%ret"]),
        ("postgresql://one:5432,[::1]:5433/x?a=b:c", []),
        ("postgresql://app@db:5432/x", []),
        ("postgresql://app@db/x", []),
        ("sqlite:///jobs.db", []),
        ("memory://", []),
    ],
)
def test_passwords_are_found_as_written_and_as_meant(address: str, found: list[str]) -> None:
    assert passwords_in(address) == found


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://a:ge/heim@h/d", "postgresql://a:ge@heim@h/d", "postgresql://a:geh#eim@h/d",
        "host=h password=geheim",
        "redis://:ge?heim@h", "redis://:12/geheim@h", "redis://:ge#heim@h", "redis://a:geheim", "postgresql://a:geheim",
        "sqlite:///jobs.db?wakeups=redis://:ge/heim@h",
    ],
)  # fmt: skip
def test_no_command_shows_a_password_that_is_not_escaped(
    holdfast: CommandLine, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", address)
    monkeypatch.setenv("HOLDFAST_APP", "")

    refused = holdfast("status", exit=2)
    shown = holdfast("config")

    assert "heim" not in refused.out + refused.err + shown.out
    assert "eim" not in refused.out + refused.err + shown.out


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://app@h/db?pasword=SECRET&pool=4", "postgresql://app@h/db?pasword=***&pool=4"),
        ("postgresql://app:one@h/db?Password=SECRET", "postgresql://app:***@h/db?Password=***"),
        (
            "sqlite:///a.db?wakeups=redis://:two@h?timeout=1%26pasword=SECRET",
            "sqlite:///a.db?wakeups=redis://:***@h?timeout=1%26pasword=***",
        ),
        ("redis://h?nonsense=1&namespace=shop1", "redis://h?nonsense=***&namespace=shop1"),
        ("host=db pasword=SECRET", "host=db pasword=***"),
        ("postgresql://app@h/db?sslmode=require", "postgresql://app@h/db?sslmode=require"),
    ],
)
def test_the_value_of_an_unknown_option_is_not_shown(address: str, shown: str) -> None:
    assert masked(address) == shown


def test_the_settings_in_effect_hide_a_password_whose_option_is_misspelt(
    holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", "postgresql://app@h/db?pasword=SECRET")

    assert "SECRET" not in holdfast("config").out + holdfast("config", "--json").out


def test_hiding_leaves_no_part_of_a_longer_password() -> None:
    assert hide("no route for app:abc and ab", ["ab", "abc"]) == "no route for app:*** and ***"
