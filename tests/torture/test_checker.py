"""The checker says OK of what is well, VIOLATED of each thing that is not, and VACUOUS where nothing happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Story
from torture.checker import INVARIANTS, Word, check
from torture.history import Note
from torture.losses import losses

Telling = Callable[[Story], None]


def verdicts(tell: Telling) -> dict[int, Word]:
    story = Story()
    tell(story)
    return {verdict.number: verdict.word for verdict in check(story.evidence())}


def well(story: Story) -> None:
    """A job that was lost once and completed; a chain of two; a cancel; a waiter."""
    story.job("a")
    story.claim("a", "t1")
    story.note("handler", job="a", token="t1", attempt=1, type="work")
    story.reap("a")
    story.claim("a", "t2")
    story.note("handler", job="a", token="t2", attempt=2, type="work")
    story.note("settled", job="a", token="t1", status="completed", written=False)
    story.end("a")
    story.note("settled", job="a", token="t2", status="completed", written=True)
    story.facts.ledger = [("a", 2, "t2")]
    story.note("promise", job="a", ledger=True, effect=False)
    story.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="completed")
    story.job("c")
    story.claim("c", "t3")
    story.job("c2", chain="c", index=1)
    story.end("c")
    story.claim("c2", "t4")
    story.end("c2")
    story.rows["c"] = {"output": None}
    story.job("x")
    story.end("x", "cancelled")
    story.call("cancel", "ok", {"chain": "x"}, status="cancelled")
    story.job("d", scheduled_at=story.now + 2_000_000)
    story.wait(3)
    story.claim("d", "t5")
    story.end("d")


def test_what_is_well_is_ok() -> None:
    judged = verdicts(well)

    assert {number for number, word in judged.items() if word is Word.VIOLATED} == set()
    for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 16, 18, 23, 29, 30):
        assert judged[number] is Word.OK, number


def test_where_nothing_happened_nothing_was_shown() -> None:
    judged = verdicts(lambda story: None)

    assert all(word in (Word.VACUOUS, Word.NOT_APPLICABLE) for number, word in judged.items() if number not in (29, 30))
    assert judged[7] is Word.VACUOUS


def test_what_this_version_does_not_have_is_never_ok() -> None:
    judged = verdicts(well)

    for number in (15, 24, 25, 31):
        assert judged[number] is Word.NOT_APPLICABLE
    assert len(INVARIANTS) == 33


def lost(story: Story) -> None:
    story.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])


def there_though_refused(story: Story) -> None:
    story.job("a")
    story.call("start", "fail", {"ids": ["b"]})
    story.job("b")


def half_a_batch(story: Story) -> None:
    story.job("a")
    story.call("start", "info", {"ids": ["a", "b"], "whole": True})


def phantom(story: Story) -> None:
    story.job("a")
    story.calls.clear()


def step_before_its_time(story: Story) -> None:
    story.job("a")
    story.job("b", chain="a", index=1)


def business_without_job(story: Story) -> None:
    story.call("start", "info", {"ids": ["a"], "business": True})
    story.facts.business = ["a"]


def completed_twice(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a")
    story.claim("a", "t2")
    story.end("a")


def effect_twice(story: Story) -> None:
    well(story)
    story.facts.ledger.append(("a", 1, "t1"))


def effect_of_a_stale_attempt(story: Story) -> None:
    well(story)
    story.facts.ledger = [("a", 1, "t1")]


def side_chain_missing(story: Story) -> None:
    well(story)
    story.note("promise", job="a", ledger=True, effect=True)


def stolen(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.claim("a", "t2")


def reaped_early(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", "pending", token=None)


def run_twice(story: Story) -> None:
    well(story)
    story.note("handler", job="a", token="t2", attempt=2, type="work")


def created_twice(story: Story) -> None:
    story.job("a")
    story.delete("a")
    story.job("a")


def without_a_lease(story: Story) -> None:
    story.job("a")
    story.claim("a", leased_until=None)


def settled_though_taken_back(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.reap("a")
    story.claim("a", "t2")
    story.end("a", "pending")
    story.note("settled", job="a", token="t1", status="pending", written=True)


def settled_as_something_else(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", "failed")
    story.note("settled", job="a", token="t1", status="completed", written=True)


def renewed_though_claimed_by_another(story: Story) -> None:
    well(story)
    story.note("accepted", verb="renew", asked=story.now, claims=[("a", "t1")])


def stale_write(story: Story) -> None:
    well(story)
    story.note("settled", job="a", token="t9", status="completed", written=True)


def ended_under_another_token(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", token="t2")


def output_of_another(story: Story) -> None:
    well(story)
    story.rows["a"] = {"output": "token:t1"}


def attempt_skipped(story: Story) -> None:
    story.job("a")
    story.claim("a", attempt=2)


def attempt_beyond_the_limit(story: Story) -> None:
    story.job("a", max_attempts=1)
    story.claim("a")
    story.reap("a")
    story.claim("a")


def early(story: Story) -> None:
    story.job("a", scheduled_at=story.now + 5_000_000)
    story.claim("a")


def late_reaper(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.wait(30)
    story.reap("a")


def poison_for_ever(story: Story) -> None:
    story.job("a", type="poison", max_attempts=1)
    story.claim("a")
    story.reap("a")


def hole_in_a_chain(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.rows["a"] = {"output": None}


def blocked_for_ever(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.job("b", after="blocked")
    story.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])


def started_before_its_blocker(story: Story) -> None:
    story.job("a")
    story.job("b")
    story.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])
    story.claim("b")


def let_go_afterwards(story: Story) -> None:
    story.job("a", tx="1")
    story.job("b", after="blocked", tx="2")
    story.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])
    story.claim("a", tx="3")
    story.end("a", tx="4")
    story.end("b", "pending", tx="5")


def two_of_a_key(story: Story) -> None:
    story.job("a", type="keyed", key="k")
    story.job("b", type="keyed", key="k")


def completed_after_cancel(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a", "cancelled", token=None)
    story.end("a", "completed", token="t1")


def told_what_never_was(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.call("cancel", "ok", {"chain": "a"}, status="cancelled")


def two_winners(story: Story) -> None:
    story.job("a", type="approval")
    story.end("a", token=None)
    for _ in range(2):
        story.call("complete", "ok", {"chain": "a"})


def waiter_told_wrong(story: Story) -> None:
    well(story)
    story.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="failed")


def waiter_asleep(story: Story) -> None:
    well(story)
    begun = story.calls[-1].begun
    story.wait(60)
    story.call("wait", "ok", {"chain": "a", "timeout": 90.0}, status="completed")
    story.calls[-1].begun = begun


def waiter_given_an_earlier_steps_output(story: Story) -> None:
    well(story)
    story.call("wait", "ok", {"chain": "c", "timeout": 5.0}, status="completed", output="half")


def waiter_told_that_there_is_none(story: Story) -> None:
    well(story)
    story.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="gone")


def waiter_kept_beyond_its_time(story: Story) -> None:
    story.job("a")
    begun = story.now
    story.wait(60)
    story.call("wait", "ok", {"chain": "a", "timeout": 0.5}, status="timeout")
    story.calls[-1].begun = begun


def kept_too_long(story: Story) -> None:
    story.job("a", keep=1_000_000)
    story.claim("a")
    story.end("a")
    story.wait(60)


def pruned_early(story: Story) -> None:
    story.job("a", keep=60_000_000)
    story.claim("a")
    story.end("a")
    story.delete("a")


def pruned_unfinished(story: Story) -> None:
    story.job("a")
    story.delete("a")


def changed_payload(story: Story) -> None:
    story.call("echo", "ok", {"value": "1"}, equal=False, got="1.0")


def held_after_exit(story: Story) -> None:
    story.job("a")
    story.claim("a", worker="w")
    story.note("exit", worker="w", code=0, asked=story.now)


def claimed_after_the_order(story: Story) -> None:
    story.job("a")
    asked = story.now
    story.wait(10)
    story.claim("a", worker="w")
    story.end("a")
    story.note("exit", worker="w", code=0, asked=asked)


def claimed_although_it_knew(story: Story) -> None:
    story.job("a")
    asked = story.now
    story.note("event", kind="worker_stopping", job=None, attempt=None, detail="")
    story.claim("a", worker="w")
    story.end("a")
    story.note("exit", worker="w", code=0, asked=asked)


def calls_that_never_end(story: Story) -> None:
    story.note("left", running=1)


def starved(story: Story) -> None:
    story.job("a")
    story.wait(600)
    story.claim("a")


def not_counted(story: Story) -> None:
    story.job("a")
    story.wait(1)
    story.call("stats", "ok", {}, total=0)


def leaked(story: Story) -> None:
    story.facts.leaks = {"left: connections": 2}


def not_at_rest(story: Story) -> None:
    story.job("a")
    story.wait(5)


def neighbour_touched(story: Story) -> None:
    story.facts.neighbour = {"started": 2, "all": 2, "pending": 1, "ids": ["n1", "n2"]}


BROKEN: list[tuple[int, Telling]] = [
    (1, lost), (1, there_though_refused), (1, half_a_batch), (2, phantom), (2, step_before_its_time),
    (3, business_without_job), (4, completed_twice), (5, effect_twice), (5, effect_of_a_stale_attempt),
    (5, side_chain_missing), (6, stolen), (6, reaped_early), (6, run_twice), (7, stale_write),
    (2, created_twice), (6, without_a_lease), (7, settled_though_taken_back),
    (7, settled_as_something_else), (7, renewed_though_claimed_by_another), (18, waiter_told_that_there_is_none),
    (18, waiter_given_an_earlier_steps_output), (18, waiter_kept_beyond_its_time), (19, kept_too_long),
    (21, claimed_although_it_knew), (30, calls_that_never_end),
    (7, ended_under_another_token), (7, output_of_another), (8, attempt_skipped), (8, attempt_beyond_the_limit),
    (9, early), (10, late_reaper), (11, poison_for_ever), (12, hole_in_a_chain), (13, blocked_for_ever),
    (13, started_before_its_blocker), (13, let_go_afterwards),
    (14, two_of_a_key), (16, completed_after_cancel), (16, told_what_never_was),
    (17, two_winners), (18, waiter_told_wrong), (18, waiter_asleep), (19, pruned_early), (19, pruned_unfinished),
    (20, changed_payload), (21, held_after_exit), (21, claimed_after_the_order), (23, starved), (29, not_counted),
    (30, leaked), (30, not_at_rest), (32, neighbour_touched),
]  # fmt: skip


@pytest.mark.parametrize(("number", "tell"), BROKEN, ids=[f"I{number}-{tell.__name__}" for number, tell in BROKEN])
def test_each_thing_that_is_wrong_is_seen(number: int, tell: Telling) -> None:
    assert verdicts(tell)[number] is Word.VIOLATED


def test_with_faults_about_what_falls_takes_the_whole_promise_with_it() -> None:
    judged = verdicts(completed_twice)

    assert judged[22] is Word.VIOLATED
    assert judged[27] is Word.VIOLATED


def test_an_attempt_that_was_given_back_does_not_count_against_poison() -> None:
    def given_back(story: Story) -> None:
        story.job("a", type="poison", max_attempts=1)
        story.claim("a", "t1")
        story.end("a", "pending", attempt=0)
        story.note("releasing", job="a", token="t1")
        story.claim("a", "t2")
        story.reap("a")
        story.changes[-1] = replace(story.changes[-1], after="failed")
        story.job("b")
        story.claim("b", "t3")
        story.end("b")

    story = Story()
    given_back(story)
    evidence = story.evidence()

    assert {verdict.number: verdict.word for verdict in check(evidence)}[11] is Word.OK


def test_time_for_which_the_store_was_away_does_not_count() -> None:
    def excused(story: Story) -> None:
        story.job("a")
        begun = story.now
        story.wait(600)
        story.note("fault", kind="server restart", begun=begun, outage=True)
        story.claim("a")

    assert verdicts(excused)[23] is Word.OK


@pytest.mark.parametrize(("awake", "word"), [("w1", Word.OK), ("w1 and w2", Word.VIOLATED)])
def test_a_lease_is_taken_back_in_time_while_a_worker_is_there_to_do_it(awake: str, word: Word) -> None:
    def late(story: Story) -> None:
        story.facts.begun = story.now
        story.job("a")
        story.claim("a", worker="worker-1")
        for half in range(80):
            story.wait(0.5)
            # One is frozen for half a minute; the other, if there is one, is not.
            if half < 6 or half > 66:
                story.notes.append(Note("worker-1", "beat", story.now, {}))
            if awake == "w1 and w2":
                story.notes.append(Note("worker-2", "beat", story.now, {}))
        story.now -= 6 * SECOND
        story.reap("a")
        story.wait(6)
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(late)[10] is word


def test_a_worker_that_is_stopping_is_not_there() -> None:
    def stopping(story: Story) -> None:
        story.facts.begun = story.now
        story.job("a")
        story.claim("a")
        story.notes.append(Note("worker-1", "event", story.now, {"kind": "worker_stopping"}))
        for _ in range(80):
            story.notes.append(Note("worker-1", "beat", story.now, {}))
            story.wait(0.5)
        story.reap("a")
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(stopping)[10] is Word.OK


@pytest.mark.parametrize(("seconds", "word"), [(1, Word.OK), (20, Word.VIOLATED), (None, Word.VIOLATED)])
@pytest.mark.parametrize(("how", "number"), [("cancelled", 16), ("completed", 17)])
def test_a_worker_learns_that_its_job_was_taken_for_as_long_as_it_lives(
    how: str, number: int, seconds: int | None, word: Word
) -> None:
    def taken(story: Story) -> None:
        story.job("a")
        story.claim("a", "t1", worker="worker-1")
        story.notes.append(Note("worker-1", "handler", story.now, {"job": "a", "token": "t1"}))
        story.end("a", how, token=None)
        if how == "completed":
            story.call("complete", "ok", {"chain": "a"})
            story.call("complete", "fail", {"chain": "a"})
        for second in range(30):
            story.notes.append(Note("worker-1", "beat", story.now, {}))
            if second == seconds:
                story.notes.append(Note("worker-1", "stale", story.now, {"job": "a", "token": "t1", "verb": "renew"}))
            story.wait(1)

    assert verdicts(taken)[number] is word


def test_one_that_never_heard_of_its_claim_does_not_hold_it() -> None:
    def unanswered(story: Story) -> None:
        story.job("a")
        story.claim("a", worker="w")
        story.note("failpoint", verb="claim", when="after", action="fail")
        story.note("exit", worker="w", code=0, asked=story.now)
        story.reap("a")
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(unanswered)[21] is Word.OK


def test_blockers_that_never_end_together_show_nothing() -> None:
    def one_after_the_other(story: Story) -> None:
        for name in ("a", "b"):
            story.job(name)
            story.claim(name, f"t{name}")
            story.end(name)
            story.wait(1)
        story.job("c")
        story.call("start", "ok", {"ids": ["c"], "after": {"c": ["a", "b"]}}, found=["c"], deduplicated=[False])
        story.claim("c", "tc")
        story.end("c")

    assert verdicts(one_after_the_other)[13] is Word.VACUOUS


@pytest.mark.parametrize(("doubled", "word"), [(0, Word.VACUOUS), (1, Word.OK)])
def test_wakeups_have_to_be_both_lost_and_repeated(doubled: int, word: Word) -> None:
    assert verdicts(lambda story: story.note("hints", dropped=9, doubled=doubled))[27] is word


def test_a_bound_of_time_is_only_measured_where_time_is_not_judged() -> None:
    def late(story: Story) -> None:
        story.job("a")
        story.wait(600)
        story.claim("a")

    def leniently(story: Story) -> None:
        late(story)
        story.facts.timely = False

    assert verdicts(late)[23] is Word.VIOLATED
    assert verdicts(leniently)[23] is Word.OK


def test_a_job_may_wait_for_those_before_it() -> None:
    def behind_many(story: Story) -> None:
        story.job("last")
        due = story.now
        for number in range(2000):
            story.job(f"j{number}")
            story.claim(f"j{number}", f"t{number}")
            story.now = due + number * 40_000
        story.claim("last")

    assert verdicts(behind_many)[23] is Word.OK


def test_a_type_that_a_dead_producer_left_paused_may_wait() -> None:
    def left_paused(story: Story) -> None:
        story.job("a", type="keyed")
        story.call("pause", "ok", {"type": "keyed"})
        story.wait(600)
        story.call("resume", "ok", {"type": "keyed"})
        story.claim("a")

    assert verdicts(left_paused)[23] is Word.OK


def supervised(story: Story, *, living: int = 2, target: int = 2, known: bool = True) -> None:
    story.facts.supervised = True
    story.note("supervisor", kind="scaled", worker=None, detail="")
    story.note("supervisor", kind="process_draining", worker="w0", detail="group elastic: process 6, 0 running")
    story.job("e", type="elastic")
    story.claim("e", "te", worker="w0")
    story.end("e")
    story.note("processes", least=1, most=3, living=1, active=1, target=1, known=known)
    story.note("processes", least=1, most=3, living=living, active=1, target=target, known=known)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({}, Word.OK),
        ({"living": 4}, Word.VIOLATED),
        ({"target": 0}, Word.VIOLATED),
        ({"known": False}, Word.VIOLATED),
        ({"known": False, "target": 1}, Word.OK),
    ],
)
def test_a_supervisor_keeps_within_its_bounds_and_holds_while_it_knows_nothing(how: dict[str, Any], word: Word) -> None:
    assert verdicts(lambda story: supervised(story, **how))[25] is word


def test_a_supervisor_that_never_had_to_change_anything_shows_nothing() -> None:
    def unchanged(story: Story) -> None:
        story.facts.supervised = True
        story.note("processes", least=1, most=3, living=1, active=1, target=1, known=True)
        story.note("supervisor exit", code=0)

    assert verdicts(unchanged)[25] is Word.VACUOUS


@pytest.mark.parametrize(("victim", "word"), [(None, Word.VIOLATED), ("8", Word.VIOLATED), ("7", Word.OK)])
def test_a_job_that_was_cut_short_when_its_process_was_let_go_breaks_the_supervisors_promise(
    victim: str | None, word: Word
) -> None:
    def cut_short(story: Story) -> None:
        supervised(story)
        story.job("a", type="elastic")
        story.claim("a", worker="w1")
        story.note("supervisor", kind="process_draining", worker="w1", detail="group elastic: process 7, 1 running")
        if victim is not None:
            story.note("fault", kind="supervised kill", begun=story.now, outage=False, victim=victim)
        story.reap("a")

    assert verdicts(cut_short)[25] is word


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("probe", {"method": "POST", "target": "/", "status": 200, "allowed": False, "clean": True}),
        ("probe", {"method": "GET", "target": "/<script>", "status": 404, "allowed": True, "clean": False}),
        ("render", {"command": "list", "code": 0, "raw": ["U+001B"]}),
    ],
)
def test_what_is_taken_for_more_than_text_breaks_security(what: str, facts: dict[str, Any]) -> None:
    def taken(story: Story) -> None:
        story.job("a", type="hostile")
        story.claim("a")
        story.end("a")
        story.note(what, **facts)

    assert verdicts(taken)[33] is Word.VIOLATED


def test_a_store_that_may_forget_is_not_judged_for_it_but_counted() -> None:
    story = Story()
    story.call("start", "ok", {"ids": ["gone"]}, found=["gone"], deduplicated=[False])
    story.wait(0.5)
    story.note("fault", kind="power lost", begun=story.now, outage=True)
    story.facts.durability = "everysec"
    evidence = story.evidence()

    assert {verdict.number: verdict.word for verdict in check(evidence)}[1] is Word.LOST
    told = losses(evidence)
    assert told["starts lost"] == 1
    assert told["seconds before a crash, the oldest lost"] == pytest.approx(0.5, abs=0.1)


def test_points_of_the_sweep_that_nobody_met_leave_crashes_unshown() -> None:
    def swept(story: Story) -> None:
        story.note("fault", kind="kill", begun=story.now, outage=False, victim="w")
        story.facts.swept = {"worker": ["kill before claim"]}

    assert verdicts(swept)[22] is Word.VACUOUS
