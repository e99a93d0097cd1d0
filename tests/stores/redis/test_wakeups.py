"""Wake-ups: hints between processes, and reconnecting."""

from __future__ import annotations

import threading
import time

from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.engine.wakeups import Hints
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, new_job
from tests.servers.redis import Product, RedisServer, run_redis, until

WAIT_SECONDS = 60.0


class ReceivedHints:
    """Collects received hints, so that a test can wait for one."""

    def __init__(self, store: RedisStore) -> None:
        self._hints: list[Hints] = []
        self._more = threading.Condition()
        self.unsubscribe = store.wakeups.subscribe(self._receive)

    def _receive(self, hints: Hints) -> None:
        with self._more:
            self._hints.append(hints)
            self._more.notify_all()

    def wait_for(self, *, due: str = "", finished: str = "", lost: str = "", anything: bool = False) -> Hints:
        def found() -> Hints | None:
            for hints in self._hints:
                wanted = (not due or due in hints.due, not finished or finished in hints.finished)
                if all(wanted) and (not lost or lost in hints.lost) and hints.anything >= anything:
                    return hints
            return None

        with self._more:
            assert self._more.wait_for(found, WAIT_SECONDS), f"received only {self._hints}"
            hints = found()
            assert hints is not None
            self._hints.clear()
            return hints


def test_another_process_receives_due_and_finished_hints(server: RedisServer) -> None:
    address = server.address()
    here, there = RedisStore(address), RedisStore(address)
    here.open_sync()
    there.open_sync()
    received = ReceivedHints(there)
    received.wait_for(anything=True)

    here.perform_sync(Start((new_job(id="a"),)))
    received.wait_for(due="resize")
    (job,) = here.perform_sync(ClaimJobs((TypeTerms("resize", 1_000_000, 1),), 1, "worker", "token"))
    here.perform_sync(Settle((completed(job),)))
    received.wait_for(finished="a")

    here.close_sync()
    there.close_sync()


def test_a_namespace_receives_no_hints_of_another(server: RedisServer) -> None:
    here, there = RedisStore(server.address()), RedisStore(server.address())
    here.open_sync()
    there.open_sync()
    received = ReceivedHints(there)
    received.wait_for(anything=True)

    here.perform_sync(Start((new_job("elsewhere"),)))
    there.perform_sync(Start((new_job("here"),)))

    assert received.wait_for(due="here").due == {"here"}
    here.close_sync()
    there.close_sync()


def test_a_dropped_subscription_reconnects_and_sends_anything(server: RedisServer) -> None:
    store = RedisStore(server.address())
    store.open_sync()
    received = ReceivedHints(store)
    received.wait_for(anything=True)
    assert store.wakeups.healthy

    with server.connect() as client:
        client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")

    received.wait_for(anything=True)
    until(lambda: store.wakeups.healthy)
    store.perform_sync(Start((new_job(),)))
    received.wait_for(due="resize")
    store.close_sync()


def test_wake_ups_are_unhealthy_while_the_server_is_down(product: Product) -> None:
    with run_redis(product=product) as server:
        store = RedisStore(server.address())
        store.open_sync()
        received = ReceivedHints(store)
        received.wait_for(anything=True)

        server.stop()
        until(lambda: not store.wakeups.healthy)
        server.start()

        received.wait_for(anything=True)
        until(lambda: store.wakeups.healthy)
        store.close_sync()


def test_hints_of_another_kind_of_store_are_passed_on(server: RedisServer) -> None:
    address = server.address()
    here, there = RedisStore(address), RedisStore(address)
    here.open_sync()
    there.open_sync()
    received = ReceivedHints(there)
    received.wait_for(anything=True)

    here.wakeups.send(Hints(due={"mail"}, lost={"job"}, recorded=True))

    assert received.wait_for(due="mail", lost="job").recorded
    here.close_sync()
    there.close_sync()


def test_an_idle_listener_delays_no_call(server: RedisServer) -> None:
    store = RedisStore(server.address())
    store.open_sync()
    received = ReceivedHints(store)
    received.wait_for(anything=True)

    durations: list[float] = []
    for _ in range(100):
        begun = time.perf_counter()
        store.perform_sync(Start((new_job("busy"),)))
        durations.append(time.perf_counter() - begun)

    # A call takes about a millisecond. A busy machine delays some of them.
    assert min(durations) < 0.05
    store.close_sync()


def test_a_closed_store_leaves_no_thread_and_no_connection(product: Product) -> None:
    with run_redis(product=product) as own:
        store = RedisStore(own.address())
        store.open_sync()
        received = ReceivedHints(store)
        received.wait_for(anything=True)

        store.close_sync()

        assert not [thread for thread in threading.enumerate() if thread.name == "holdfast-redis-wakeups"]
        with own.connect() as client:
            until(lambda: len(client.client_list()) == 1)


def test_a_user_without_the_right_to_publish_works_without_wake_ups(product: Product) -> None:
    with run_redis(product=product) as own:
        with own.connect() as client:
            client.execute_command("ACL", "SETUSER", "quiet", "on", ">secret", "~*", "resetchannels", "+@all")
        store = RedisStore(own.address("quiet").replace("redis://", "redis://quiet:secret@"))
        store.open_sync()

        store.perform_sync(Start((new_job(id="a"),)))
        store.perform_sync(Start((new_job(id="b", priority=1), new_job(id="c"))))
        jobs = store.perform_sync(ClaimJobs((TypeTerms("resize", 1_000_000, 1),), 3, "worker", "token"))
        settled = store.perform_sync(Settle(tuple(completed(job) for job in jobs)))

        assert [job.id for job in jobs] == ["b", "a", "c"]
        assert [each.lost for each in settled] == [None] * 3
        store.close_sync()
