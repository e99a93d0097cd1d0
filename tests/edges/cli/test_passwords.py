"""Passwords in addresses are found, so that they can be hidden."""

import pytest

from holdfast.cli.passwords import hide, passwords_in


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
        ("postgresql://app@db/x", []),
        ("sqlite:///jobs.db", []),
        ("memory://", []),
    ],
)
def test_passwords_are_found_as_written_and_as_meant(address: str, found: list[str]) -> None:
    assert passwords_in(address) == found


def test_hiding_leaves_no_part_of_a_longer_password() -> None:
    assert hide("no route for app:abc and ab", ["ab", "abc"]) == "no route for app:*** and ***"
