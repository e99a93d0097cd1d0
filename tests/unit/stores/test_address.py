from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.engine.store import Store
from holdfast.stores.address import open_store
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sharded.store import ShardedStore
from holdfast.stores.sqlite import SqliteStore


def test_an_address_creates_its_store() -> None:
    store = open_store("sqlite:////tmp/jobs.db")

    assert isinstance(store, SqliteStore)
    assert store.name == "sqlite:////tmp/jobs.db"


def test_a_named_memory_store_is_shared_and_an_unnamed_one_is_private() -> None:
    assert open_store("memory://shared") is open_store("memory://shared")
    assert open_store("memory://shared") is not open_store("memory://other")
    assert open_store("memory://") is not open_store("memory://")


@pytest.mark.parametrize(
    "address",
    [
        {"eu": "memory://one", "us": "memory://two"},
        "eu=memory://one us=memory://two",
        {"eu": MemoryStore("memory://one"), "us": "memory://two"},
    ],
)
def test_several_addresses_by_name_are_one_store(address: dict[str, str | Store] | str) -> None:
    store = open_store(address)

    assert store.sharded
    assert store.name == "eu=memory://one us=memory://two"


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ({}, "at least one"),
        ({"a~b": "memory://"}, "no name of a shard"),
        ("eu=memory:// eu=memory://", "two stores are called"),
        ("eu=memory:// postgresql://app:secret@db", "NAME=ADDRESS"),
        ({"eu": ShardedStore({"a": MemoryStore()})}, "not a sharded one"),
        ({"eu": "mysql://app:secret@db"}, "no store for mysql"),
    ],
)
def test_impossible_shards_are_refused(address: dict[str, str | Store] | str, text: str) -> None:
    with pytest.raises(ValueError, match=text) as refused:
        open_store(address)
    assert "secret" not in str(refused.value)


def test_a_store_object_is_returned_unchanged() -> None:
    store = MemoryStore()

    assert open_store(store) is store


def test_the_error_of_an_unknown_scheme_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no store for mysql://; .* memory://.* sqlite://"):
        open_store("mysql://root:secret@host/jobs")
    with pytest.raises(ValueError, match="begins with one of memory://"):
        open_store("jobs.db")


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("postgresql+psycopg://h/d", "postgresql://"),
        ("postgresql+asyncpg://h/d", "postgresql://"),
        ("valkey://h", "redis://"),
        ("sqlite+aiosqlite:///x", "sqlite://"),
    ],
)
def test_the_error_of_a_similar_scheme_suggests_the_right_one(address: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"write {meant}$"):
        open_store(address)


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ValueError, match="unknown option: foo"):
        open_store("postgresql://h/d?foo=1&sslmode=require&pool=2")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://a:s/ecret@h/d", "postgresql://a:s?ecret@h/d", "postgresql://a:s#ecret@h/d", "redis://a:s@ecret@h",
        "redis://:s?x=ecret@h", "postgresql://h/d?replica=postgresql%3A//a%3As%2Fecret%40h",
    ],
)  # fmt: skip
def test_a_password_that_is_not_escaped_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ValueError, match="must be percent-encoded") as refused:
        open_store(address)

    assert "ecret" not in str(refused.value)


def test_percent_encoded_passwords_are_accepted() -> None:
    store = open_store("postgresql://a%40b:s%2F%3F%23%40@h:5432/d%40e?user=a@b&replica=postgresql://a:s%2540@copy")

    assert store.name == "postgresql://a%40b@h:5432/d%40e"


@pytest.mark.parametrize(
    ("address", "driver", "extra"), [("postgresql://h/d", "psycopg", "postgres"), ("redis://h", "hiredis", "redis")]
)
def test_the_error_of_a_missing_driver_names_its_extra(address: str, driver: str, extra: str) -> None:
    source = f"import sys; sys.modules[{driver!r}] = None; import holdfast; holdfast.SyncClient({address!r})"

    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)

    assert ended.stderr.splitlines()[-1].endswith(f"install Holdfast with its extra [{extra}]")


@pytest.mark.parametrize(
    "address",
    [
        "mysql://root:secret@host/jobs", "root:secret@host", "sqlite://root:secret@host/x", "sqlite://root:secret\u2100@host/x",
        "redis://root:secret",
        "postgresql://root:secret", "redis://root:secret\u2100@h", "postgresql://root:[secret@h",
    ],
)  # fmt: skip
def test_a_password_is_never_repeated(address: str) -> None:
    with pytest.raises(ValueError, match="address") as refused:
        open_store(address)

    assert "secret" not in str(refused.value)


def test_other_objects_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="not as int"):
        open_store(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    [
        "redis://:s3cret@cache:65536", "redis://:s3cret@cache:0", "redis+cluster://:s3cret@one:7000,two:123456",
        "postgresql://app:s3cret@db:65536/shop", "postgresql://app:s3cret@db:0/shop",
        "postgresql://app:s3cret@one:5432,two:70000/shop",
    ],
)  # fmt: skip
def test_an_invalid_port_is_refused_without_showing_the_password(address: str) -> None:
    with pytest.raises(
        ValueError, match=r"the port of a (Redis|PostgreSQL) address is a number from 1 to 65535"
    ) as reported:
        open_store(address)

    assert "s3cret" not in str(reported.value)
