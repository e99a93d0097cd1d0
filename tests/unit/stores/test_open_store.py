from __future__ import annotations

import pytest

from holdfast.stores.address import open_store
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sqlite import SqliteStore


def test_an_address_leads_to_its_store() -> None:
    store = open_store("sqlite:////tmp/jobs.db")

    assert isinstance(store, SqliteStore)
    assert store.name == "sqlite:////tmp/jobs.db"


def test_a_named_memory_is_one_store_per_process_and_a_bare_one_is_private() -> None:
    assert open_store("memory://shared") is open_store("memory://shared")
    assert open_store("memory://shared") is not open_store("memory://other")
    assert open_store("memory://") is not open_store("memory://")


def test_a_store_is_taken_as_it_is() -> None:
    store = MemoryStore()

    assert open_store(store) is store


def test_an_unknown_scheme_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no store for mysql://; .* memory://.* sqlite://"):
        open_store("mysql://root:secret@host/jobs")
    with pytest.raises(ValueError, match="begins with one of memory://"):
        open_store("jobs.db")


@pytest.mark.parametrize(
    "address", ["mysql://root:secret@host/jobs", "root:secret@host", "sqlite://root:secret@host/x"]
)
def test_a_password_is_never_repeated(address: str) -> None:
    with pytest.raises(ValueError, match="address") as refused:
        open_store(address)

    assert "secret" not in str(refused.value)


def test_what_is_neither_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not as int"):
        open_store(5)  # type: ignore[arg-type]
