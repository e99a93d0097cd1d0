"""The user whose changes are recorded in the audit."""

from __future__ import annotations

import getpass
from collections.abc import Generator
from contextvars import copy_context

import pytest

from holdfast.engine import audit_user
from holdfast.engine.audit_user import act_as_handler, acting_as, audit_of
from holdfast.engine.operations import Audit


@pytest.fixture(autouse=True)
def forget_process_user() -> Generator[None]:
    audit_user._process_user.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield
    audit_user._process_user.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_the_user_is_that_of_the_block_then_of_the_client_then_of_the_process() -> None:
    assert audit_of(None, None) == Audit(getpass.getuser(), None)
    assert audit_of("ann", "why") == Audit("ann", "why")
    with acting_as("ben"):
        assert audit_of("ann", None) == Audit("ben", None)
    assert audit_of("ann", None) == Audit("ann", None)


def test_a_handler_leaves_no_entry_unless_it_acts_as_a_user() -> None:
    def handler() -> tuple[Audit | None, Audit | None]:
        act_as_handler()
        alone = audit_of("ann", None)
        with acting_as("ben"):
            return alone, audit_of("ann", None)

    assert copy_context().run(handler) == (None, Audit("ben", None))


def test_a_process_without_a_user_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise OSError("no username")

    monkeypatch.setattr(getpass, "getuser", unknown)

    entry = audit_of(None, None)
    assert entry is not None
    assert entry.user.startswith("uid ")


def test_a_reason_can_be_stored_whatever_it_contains() -> None:
    entry = audit_of("ann", "a\0b\udcff" + "x" * 5000)

    assert entry is not None
    assert entry.reason is not None
    assert entry.reason.startswith("a\\0b?")
    assert len(entry.reason) == 1000
