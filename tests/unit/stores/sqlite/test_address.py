from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.stores.sqlite.address import SqliteAddress, parse


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("sqlite:///jobs.db", SqliteAddress(Path("jobs.db"))),
        ("sqlite:///data/jobs.db", SqliteAddress(Path("data/jobs.db"))),
        ("sqlite:////var/lib/jobs.db", SqliteAddress(Path("/var/lib/jobs.db"))),
        ("sqlite:///my%20jobs%3F.db", SqliteAddress(Path("my jobs?.db"))),
        ("sqlite:///jobs.db?synchronous=NORMAL", SqliteAddress(Path("jobs.db"), synchronous="normal")),
        ("sqlite:///jobs.db?timeout=2.5", SqliteAddress(Path("jobs.db"), timeout=2.5)),
    ],
)
def test_an_address_names_a_file_and_options(url: str, address: SqliteAddress) -> None:
    assert parse(url) == address


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("sqlite://jobs.db", "three slashes"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite:///", "memory://"),
        ("sqlite:///jobs.db?mode=memory", "memory://"),
        ("sqlite:///jobs.db#x", "fragment"),
        ("sqlite:///jobs.db?sync=off", "no option 'sync'"),
        ("sqlite:///jobs.db?synchronous=off", "full or normal"),
        ("sqlite:///jobs.db?timeout=soon", "number of seconds"),
        ("sqlite:///jobs.db?timeout=-1", "number of seconds"),
        ("sqlite:///jobs.db?timeout=nan", "number of seconds"),
        ("sqlite:///jobs.db?timeout=1&timeout=2", "twice"),
        ("sqlite:///jobs.db?timeout", "bad query"),
        ("postgresql:///jobs", "not the address of a SQLite store"),
    ],
)
def test_a_wrong_address_is_refused_with_advice(url: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        parse(url)


def test_the_name_for_people_is_the_address_without_options() -> None:
    assert parse("sqlite:////var/jobs.db?timeout=5").name == "sqlite:////var/jobs.db"
