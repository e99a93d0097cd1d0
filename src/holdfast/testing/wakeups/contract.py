"""The contract of wake-ups. Additional hints are allowed, so the cases only require that the expected ones arrive."""

from __future__ import annotations

import logging
import threading
import time

from holdfast.engine.wakeups import ANYTHING, ConnectedWakeups, Hints
from holdfast.testing.wakeups.participants import TIMEOUT, Participants

MANY = 100


def a_listener_receives_hints_sent_by_its_own_and_by_another_object(participants: Participants) -> None:
    listeners = [participants.listen(participants.here), participants.listen(participants.there)]

    for hints in (
        Hints(due={"resize"}),
        Hints(finished={"chain"}),
        Hints(lost={"job"}),
        Hints(workers={"worker"}),
        Hints(recorded=True),
        ANYTHING,
    ):
        participants.here.send(hints)
        for listener in listeners:
            listener.receives(hints)
            listener.clear()


def one_send_may_contain_hints_of_every_kind(participants: Participants) -> None:
    listener = participants.listen(participants.there)
    hints = Hints(
        due={"resize", 'a name: it\'s "quoted" \\ ü'},
        finished={"one", "two"},
        lost={"three"},
        recorded=True,
        workers={"four"},
    )

    participants.here.send(hints)

    listener.receives(hints)


def every_listener_receives_a_hint(participants: Participants) -> None:
    listeners = [
        participants.listen(handle)
        for handle in (participants.here, participants.here, participants.there, participants.there)
    ]

    participants.there.send(Hints(due={"resize"}))

    for listener in listeners:
        listener.receives(Hints(due={"resize"}))


def a_listener_receives_nothing_after_it_unsubscribed(participants: Participants) -> None:
    unsubscribed, stays = participants.listen(participants.there), participants.listen(participants.there)
    unsubscribed.unsubscribe()
    unsubscribed.unsubscribe()

    participants.here.send(Hints(due={"resize"}))

    stays.receives(Hints(due={"resize"}))
    assert not unsubscribed.has_received("resize")


def a_listener_may_unsubscribe_while_it_is_called(participants: Participants) -> None:
    stays = participants.listen(participants.there)
    called = threading.Event()

    def unsubscribe_at_once(hints: Hints) -> None:
        if "resize" in hints.due or hints.anything:
            unsubscribe()
            called.set()

    unsubscribe = participants.there.subscribe(unsubscribe_at_once)
    participants.here.send(Hints(due={"resize"}))

    stays.receives(Hints(due={"resize"}))
    assert called.wait(TIMEOUT)


def a_listener_that_raises_does_not_affect_the_others(participants: Participants) -> None:
    raised = threading.Event()

    def fail(hints: Hints) -> None:
        raised.set()
        raise ZeroDivisionError("raised by the listener")

    # The error is logged, as the contract demands. The filter keeps it out of the test output.
    logging.getLogger("holdfast").addFilter(_is_no_exception)
    unsubscribe = [handle.subscribe(fail) for handle in (participants.here, participants.there)]
    try:
        listeners = [participants.listen(participants.here), participants.listen(participants.there)]
        for number in range(3):
            participants.here.send(Hints(due={f"resize {number}"}))
            for listener in listeners:
                listener.receives(Hints(due={f"resize {number}"}))
    finally:
        for each in unsubscribe:
            each()
        logging.getLogger("holdfast").removeFilter(_is_no_exception)
    assert raised.is_set()


def the_sender_may_change_its_hints_after_sending_them(participants: Participants) -> None:
    listener = participants.listen(participants.there)
    hints = Hints(due={"resize"}, finished={"chain"})

    participants.here.send(hints)
    assert hints == Hints(due={"resize"}, finished={"chain"})
    hints.due.clear()
    hints.finished.clear()

    listener.receives(Hints(due={"resize"}, finished={"chain"}))


def empty_hints_may_be_sent(participants: Participants) -> None:
    listener = participants.listen(participants.there)

    participants.here.send(Hints())
    participants.here.send(Hints(due={"resize"}))

    listener.receives(Hints(due={"resize"}))


def no_hint_is_lost_when_many_threads_send_at_once(participants: Participants) -> None:
    listeners = [participants.listen(participants.here), participants.listen(participants.there)]
    together = threading.Barrier(4)

    def send_many(number: int) -> None:
        together.wait()
        for each in range(MANY):
            handle = participants.here if each % 2 else participants.there
            handle.send(Hints(due={f"type {number}"}, finished={f"chain {number} {each}"}))

    threads = [threading.Thread(target=send_many, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    expected = Hints(due={f"type {number}" for number in range(4)})
    expected.finished |= {f"chain {number} {each}" for number in range(4) for each in range(MANY)}
    for listener in listeners:
        listener.receives(expected)


def hints_that_exceed_the_size_of_a_message_arrive(participants: Participants) -> None:
    listener = participants.listen(participants.there)
    hints = Hints(due={"resize"}, finished={f"{'chain' * 20} {number}" for number in range(20_000)})

    participants.here.send(hints)

    listener.receives(hints)


def sending_does_not_wait_for_the_network(participants: Participants) -> None:
    listener = participants.listen(participants.there)

    begun = time.monotonic()
    for number in range(100):
        participants.here.send(Hints(due={f"type {number}"}))
    took = time.monotonic() - begun

    # A hundred round trips of a network would take longer.
    assert took < TIMEOUT / 4
    listener.receives(Hints(due={f"type {number}" for number in range(100)}))


def closed_wake_ups_do_not_raise_and_deliver_hints_again_after_they_are_opened(participants: Participants) -> None:
    listener = participants.listen(participants.there)
    if isinstance(participants.there, ConnectedWakeups):
        participants.there.close()
        participants.there.close()
        participants.there.send(Hints(due={"publish"}))
        listener.receives(Hints(due={"publish"}))
        participants.there.subscribe(lambda hints: None)()
        participants.there.open()
        participants.there.open()
    listener.clear()

    again = participants.listen(participants.there)
    participants.here.send(Hints(due={"resize"}))

    for each in (listener, again):
        each.receives(Hints(due={"resize"}))


def connected_wake_ups_are_healthy_and_report_no_problem(participants: Participants) -> None:
    for handle in (participants.here, participants.there):
        participants.listen(handle)

        assert handle.healthy
        if isinstance(handle, ConnectedWakeups):
            assert handle.problem is None
            assert handle.name


def _is_no_exception(record: logging.LogRecord) -> bool:
    return record.exc_info is None
