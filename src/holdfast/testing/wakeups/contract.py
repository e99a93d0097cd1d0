"""What holds for all wake-ups. A hint too many is no fault, so the cases ask that the needed ones come."""

from __future__ import annotations

import logging
import threading
import time

from holdfast.engine.wakeups import ANYTHING, ConnectedWakeups, Hints
from holdfast.testing.wakeups.participants import PATIENCE, Parties

MANY = 100


def whoever_listens_hears_what_is_sent_here_and_elsewhere(parties: Parties) -> None:
    ears = [parties.listen(parties.here), parties.listen(parties.there)]

    for hints in (
        Hints(due={"resize"}),
        Hints(finished={"chain"}),
        Hints(lost={"job"}),
        Hints(recorded=True),
        ANYTHING,
    ):
        parties.here.send(hints)
        for recorder in ears:
            recorder.receives(hints)
            recorder.forget()


def one_hint_may_tell_of_everything_at_once(parties: Parties) -> None:
    recorder = parties.listen(parties.there)
    hints = Hints(due={"resize", 'a name: it\'s "quoted" \\ ü'}, finished={"one", "two"}, lost={"three"}, recorded=True)

    parties.here.send(hints)

    recorder.receives(hints)


def every_listener_hears(parties: Parties) -> None:
    ears = [parties.listen(handle) for handle in (parties.here, parties.here, parties.there, parties.there)]

    parties.there.send(Hints(due={"resize"}))

    for recorder in ears:
        recorder.receives(Hints(due={"resize"}))


def who_has_left_hears_nothing_and_disturbs_nobody(parties: Parties) -> None:
    gone, stays = parties.listen(parties.there), parties.listen(parties.there)
    gone.leave()
    gone.leave()

    parties.here.send(Hints(due={"resize"}))

    stays.receives(Hints(due={"resize"}))
    assert not gone.has_received("resize")


def a_listener_may_leave_while_it_is_called(parties: Parties) -> None:
    stays = parties.listen(parties.there)
    left = threading.Event()

    def leave(hints: Hints) -> None:
        if "resize" in hints.due or hints.anything:
            unsubscribe()
            left.set()

    unsubscribe = parties.there.subscribe(leave)
    parties.here.send(Hints(due={"resize"}))

    stays.receives(Hints(due={"resize"}))
    assert left.wait(PATIENCE)


def a_listener_that_raises_harms_nobody(parties: Parties) -> None:
    raised = threading.Event()

    def fail(hints: Hints) -> None:
        raised.set()
        raise ZeroDivisionError("the listener's own")

    # It is logged, as it should be, and that is no news to whoever runs this.
    logging.getLogger("holdfast").addFilter(_is_no_exception)
    leave = [handle.subscribe(fail) for handle in (parties.here, parties.there)]
    try:
        ears = [parties.listen(parties.here), parties.listen(parties.there)]
        for number in range(3):
            parties.here.send(Hints(due={f"resize {number}"}))
            for recorder in ears:
                recorder.receives(Hints(due={f"resize {number}"}))
    finally:
        for each in leave:
            each()
        logging.getLogger("holdfast").removeFilter(_is_no_exception)
    assert raised.is_set()


def hints_stay_the_senders(parties: Parties) -> None:
    recorder = parties.listen(parties.there)
    hints = Hints(due={"resize"}, finished={"chain"})

    parties.here.send(hints)
    assert hints == Hints(due={"resize"}, finished={"chain"})
    hints.due.clear()
    hints.finished.clear()

    recorder.receives(Hints(due={"resize"}, finished={"chain"}))


def telling_of_nothing_is_no_mistake(parties: Parties) -> None:
    recorder = parties.listen(parties.there)

    parties.here.send(Hints())
    parties.here.send(Hints(due={"resize"}))

    recorder.receives(Hints(due={"resize"}))


def in_a_flood_from_many_threads_nothing_is_lost(parties: Parties) -> None:
    ears = [parties.listen(parties.here), parties.listen(parties.there)]
    together = threading.Barrier(4)

    def flood(number: int) -> None:
        together.wait()
        for each in range(MANY):
            handle = parties.here if each % 2 else parties.there
            handle.send(Hints(due={f"type {number}"}, finished={f"chain {number} {each}"}))

    threads = [threading.Thread(target=flood, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    whole = Hints(due={f"type {number}" for number in range(4)})
    whole.finished |= {f"chain {number} {each}" for number in range(4) for each in range(MANY)}
    for recorder in ears:
        recorder.receives(whole)


def more_than_fits_into_a_message_arrives_all_the_same(parties: Parties) -> None:
    recorder = parties.listen(parties.there)
    hints = Hints(due={"resize"}, finished={f"{'chain' * 20} {number}" for number in range(20_000)})

    parties.here.send(hints)

    recorder.receives(hints)


def sending_takes_next_to_no_time(parties: Parties) -> None:
    recorder = parties.listen(parties.there)

    begun = time.monotonic()
    for number in range(100):
        parties.here.send(Hints(due={f"type {number}"}))
    took = time.monotonic() - begun

    # Who waited for an answer each time, of a network perhaps, would take longer.
    assert took < PATIENCE / 4
    recorder.receives(Hints(due={f"type {number}" for number in range(100)}))


def what_is_closed_raises_for_nobody_and_hears_again_when_it_is_opened(parties: Parties) -> None:
    recorder = parties.listen(parties.there)
    if isinstance(parties.there, ConnectedWakeups):
        parties.there.close()
        parties.there.close()
        parties.there.send(Hints(due={"publish"}))
        recorder.receives(Hints(due={"publish"}))
        parties.there.subscribe(lambda hints: None)()
        parties.there.open()
        parties.there.open()
    recorder.forget()

    again = parties.listen(parties.there)
    parties.here.send(Hints(due={"resize"}))

    for each in (recorder, again):
        each.receives(Hints(due={"resize"}))


def wake_ups_that_stand_are_healthy_and_have_no_trouble(parties: Parties) -> None:
    for handle in (parties.here, parties.there):
        parties.listen(handle)

        assert handle.healthy
        if isinstance(handle, ConnectedWakeups):
            assert handle.trouble is None
            assert handle.name


def _is_no_exception(record: logging.LogRecord) -> bool:
    return record.exc_info is None
