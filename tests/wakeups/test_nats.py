"""What is peculiar to wake-ups through NATS: addresses, logins, TLS, permissions, several servers."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from holdfast import Hints, MissingExtra
from holdfast.cli.passwords import masked, passwords_in
from holdfast.stores.nats.address import read_address
from holdfast.stores.nats.login import connect_command
from holdfast.stores.nats.wakeups import NatsWakeups
from holdfast.testing.wakeups import RecordingListener
from tests.servers.nats import run_nats, shared_nats
from tests.servers.ports import free_port
from tests.servers.redis import run_redis
from tests.stores.redis.tls import AUTHORITY, LOCALHOST
from tests.waiting import wait_until

# Any: these packages have no complete types.
nats: Any = import_module("nats")
nkeys: Any = import_module("nkeys")

TLS = f'tls {{ cert_file: "{LOCALHOST}", key_file: "{LOCALHOST}" }}'


@contextmanager
def opened(address: str) -> Generator[NatsWakeups]:
    wakeups = NatsWakeups.at(address)
    wakeups.open()
    with closing(wakeups):
        yield wakeups


def assert_hints_arrive(address: str) -> None:
    with opened(address) as here, opened(address) as there:
        listener = RecordingListener(there)
        assert there.healthy, there.problem
        here.send(Hints(due={"resize"}))
        listener.receives(Hints(due={"resize"}))


def test_an_address_names_servers_a_login_and_a_namespace() -> None:
    one = read_address("nats://app:s%40crit@one:4223,two?namespace=shop&timeout=2")
    token = read_address("nats://hunter2@localhost")

    assert one.nodes == (("one", 4223), ("two", 4222))
    assert one.login == {"user": "app", "pass": "s@crit"}
    assert one.timeout == 2
    assert one.shown == "nats://one:4223,two?namespace=shop"
    assert token.login == {"auth_token": "hunter2"}
    assert "hunter2" not in token.shown + repr(token)


@pytest.mark.parametrize(
    "address",
    [
        "nats://:hunter2@localhost:port",
        "nats://hunter2@localhost/path",
        "nats://hunter2@localhost?timeout=soon",
        "nats://hunter2@localhost?namespace=",
        "nats://hunter2@localhost?ssl_ca_certs=file",
        "nats://hunter2@localhost?nkey=file",
    ],
)
def test_a_wrong_address_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(ValueError, match="NATS address") as refusal:
        read_address(address)
    assert "hunter2" not in str(refusal.value)


def test_commands_mask_the_password_and_the_token_of_an_address() -> None:
    assert masked("nats://app:hunter2@localhost?namespace=shop") == "nats://app:***@localhost?namespace=shop"
    assert masked("nats://hunter2@localhost?creds=shop.creds") == "nats://***@localhost?creds=shop.creds"
    assert passwords_in("sqlite:///jobs.db?wakeups=nats%3A%2F%2Fhunter2%40localhost") == ["hunter2"]


@pytest.mark.parametrize(
    ("namespace", "subject"),
    [
        ("shop", "holdfast.shop.wake"),
        ("a.b", "holdfast.a%2Eb.wake"),
        ("*", "holdfast.%2A.wake"),
        (">", "holdfast.%3E.wake"),
        ("a b\r\nPUB", "holdfast.a%20b%0D%0APUB.wake"),
        ("läden", "holdfast.l%C3%A4den.wake"),
    ],
)
def test_a_namespace_is_one_token_of_the_subject(namespace: str, subject: str) -> None:
    address = shared_nats().address("shop").replace("shop", subject.removeprefix("holdfast.").removesuffix(".wake"))

    assert read_address(address).namespace == namespace
    assert read_address(address).subject == subject
    assert_hints_arrive(address)


async def test_another_client_of_nats_sees_the_messages_and_may_send_its_own() -> None:
    server = shared_nats()
    address = server.address("seen")
    client = await nats.connect(f"nats://127.0.0.1:{server.port}")
    subscription = await client.subscribe("holdfast.seen.wake")
    await client.flush()
    wakeups = NatsWakeups.at(address)
    await asyncio.to_thread(wakeups.open)
    listener = RecordingListener(wakeups)

    wakeups.send(Hints(due={"resize"}))
    message = await subscription.next_msg(timeout=60)
    assert b"resize" in message.data

    listener.clear()
    await client.publish("holdfast.seen.wake", b"unknown format")
    await client.flush()
    await asyncio.to_thread(listener.receives, Hints(anything=True))
    await asyncio.to_thread(wakeups.close)
    await client.close()


def test_a_server_may_ask_for_a_password_or_a_token() -> None:
    with run_nats('authorization { user: app, password: "s@crit" }') as server:
        assert_hints_arrive(server.address(login="app:s%40crit"))
        with opened(server.address(login="app:hunter2")) as refused:
            assert not refused.healthy
            assert "Authorization Violation" in str(refused.problem)
            assert "hunter2" not in str(refused.problem)
    with run_nats("authorization { token: hunter2 }") as server:
        assert_hints_arrive(server.address(login="hunter2"))


def test_a_server_may_ask_for_an_nkey(tmp_path: Path) -> None:
    seed = nkeys.encode_seed(bytes(SigningKey.generate()), nkeys.PREFIX_BYTE_USER)
    public = nkeys.from_seed(bytearray(seed)).public_key.decode()
    file = tmp_path / "user.nk"
    file.write_bytes(bytes(seed) + b"\n")

    with run_nats(f"authorization {{ users: [ {{ nkey: {public} }} ] }}") as server:
        assert_hints_arrive(server.address(nkey=str(file)))
        with opened(server.address(nkey=str(tmp_path / "missing"))) as refused:
            assert "cannot be read" in str(refused.problem)
        file.write_text("not a seed")
        with opened(server.address(nkey=str(file))) as refused:
            assert "seed of the NKEY cannot be used" in str(refused.problem)


def test_a_credentials_file_contains_a_jwt_and_the_seed_of_its_key(tmp_path: Path) -> None:
    seed = nkeys.encode_seed(bytes(SigningKey.generate()), nkeys.PREFIX_BYTE_USER).decode()
    file = tmp_path / "user.creds"
    file.write_text(
        f"-----BEGIN NATS USER JWT-----\neyJ.jwt\n------END NATS USER JWT------\n\n"
        f"************************* IMPORTANT *************************\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    address = read_address(f"nats://localhost?creds={file}")

    command = connect_command(address, {"nonce": "number"}, tls=False)

    sent = json.loads(command.removeprefix(b"CONNECT "))
    assert sent["jwt"] == "eyJ.jwt"
    signature = base64.urlsafe_b64decode(sent["sig"] + "==")
    assert nkeys.from_seed(bytearray(seed.encode())).verify(b"number", signature)
    file.write_text("nothing")
    with pytest.raises(ConnectionError, match="no user JWT"):
        connect_command(address, {"nonce": "number"}, tls=False)


def test_a_login_by_key_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nkeys", None)

    with pytest.raises(MissingExtra, match=r"extra \[nats\]"):
        NatsWakeups.at("nats://localhost?creds=shop.creds")


def test_the_certificate_of_the_server_is_verified() -> None:
    with run_nats(TLS) as server:
        assert_hints_arrive(server.address(scheme="nats+tls", ssl_ca_certs=str(AUTHORITY)))
        assert_hints_arrive(server.address(scheme="nats+tls", ssl_cert_reqs="none"))
        for scheme in ("nats", "nats+tls"):
            with opened(server.address(scheme=scheme)) as refused:
                assert "CERTIFICATE_VERIFY_FAILED" in str(refused.problem)


def test_an_address_with_tls_sends_no_password_to_a_server_without_it() -> None:
    server = shared_nats()

    with opened(server.address(scheme="nats+tls", login="app:hunter2")) as refused:
        assert not refused.healthy
        assert refused.problem


def test_a_subject_that_the_user_must_not_use_is_a_problem_or_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast")
    users = (
        '{ user: reader, password: r, permissions: { publish: { deny: ">" } } },'
        '{ user: writer, password: w, permissions: { subscribe: { deny: ">" } } }'
    )
    with (
        run_nats(f"authorization {{ users: [ {users} ] }}") as server,
        opened(server.address("shop", login="writer:w")) as writer,
        opened(server.address("shop", login="reader:r")) as reader,
    ):
        listener = RecordingListener(reader)
        assert "Permissions Violation for Subscription" in str(writer.problem)
        assert reader.healthy

        writer.send(Hints(due={"resize"}))
        listener.receives(Hints(due={"resize"}))
        reader.send(Hints(due={"resize"}))
        wait_until(lambda: "cannot be sent" in caplog.text)


def test_hints_larger_than_the_servers_limit_become_one_for_anything() -> None:
    with run_nats("max_payload: 1000") as server:
        address = server.address()
        with opened(address) as here, opened(address) as there:
            listener = RecordingListener(there)

            here.send(Hints(finished={f"chain {number}" for number in range(1000)}))

            listener.receives(Hints(anything=True))


def test_a_second_server_replaces_one_that_is_down() -> None:
    with run_nats() as first, run_nats() as second:
        both = f"nats://127.0.0.1:{first.port},127.0.0.1:{second.port}?namespace=shop"
        first.stop()

        assert_hints_arrive(both)


def test_a_server_that_stops_to_reply_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.stores.pubsub.subscriber.PING_AFTER", 0.2)
    with run_nats() as server, opened(server.address(timeout="1")) as wakeups:
        assert wakeups.healthy

        server.freeze()

        wait_until(lambda: not wakeups.healthy)


def test_a_server_that_is_not_nats_is_a_problem() -> None:
    with run_redis(port=free_port()) as server, opened(f"nats://127.0.0.1:{server.port}?timeout=1") as wakeups:
        assert not wakeups.healthy
