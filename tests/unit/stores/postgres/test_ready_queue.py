"""The rows of the queue of tracks."""

from __future__ import annotations

from holdfast.stores.postgres.verbs.ready_queue import Entry, ReadyQueue


def queue_of(*turns: int, row: int = 0) -> ReadyQueue:
    queue = ReadyQueue()
    for turn in turns:
        queue.add(f"t{turn:04}", Entry("render", 0, turn, row), waits=True)
    return queue


def test_tracks_that_were_not_served_stay_in_their_row() -> None:
    queue = queue_of(1, 2, 3)
    queue.change("t0001", 100, 0, None)

    rows = queue.rows()

    assert sorted(zip(rows["firsts"], rows["tracks"], rows["turns"], strict=True)) == [
        (2, '{"t0002","t0003"}', "{2,3}"),
        (100, '{"t0001"}', "{100}"),
    ]


def test_few_served_tracks_have_rows_of_their_own() -> None:
    queue = queue_of(*range(40))
    for turn in range(40):
        queue.change(f"t{turn:04}", 100 + turn, 0, None)

    assert [len(row.split(",")) for row in queue.rows()["tracks"]] == [1] * 40


def test_many_served_tracks_share_rows_in_the_order_of_their_turns() -> None:
    queue = queue_of(*range(500))
    for turn in range(500):
        queue.change(f"t{turn:04}", 1000 - turn, 0, None)

    rows = queue.rows()

    assert [len(row.split(",")) for row in rows["tracks"]] == [15] * 33 + [5]
    assert rows["firsts"] == [501 + 15 * number for number in range(34)]


def test_parked_and_deleted_tracks_leave_the_queue() -> None:
    queue = queue_of(1, 2)
    queue.change("t0001", None, 0, "gpu")
    queue.remove(["t0002"])

    assert queue.rows() == {}


def test_a_track_that_is_put_off_has_a_row_with_its_time() -> None:
    queue = queue_of(1, 2)

    assert queue.change("t0001", 100, 5000, None) == 100

    rows = queue.rows()
    assert dict(zip(rows["tracks"], zip(rows["ready_ats"], rows["firsts"], strict=True), strict=True)) == {
        '{"t0002"}': (0, 2),
        '{"t0001"}': (5000, 100),
    }
