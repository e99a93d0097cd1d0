"""What the checker says of attempts: how they end, who may write, what is given back, and what others do meanwhile."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Story, verdicts
from torture.checker import Word, check
from torture.history import Note


@pytest.mark.parametrize("how", ["completed", "pending", "cancelled", "renewed"])
@pytest.mark.parametrize(("seconds", "word"), [(1, Word.OK), (40, Word.VIOLATED)])
def test_a_lease_that_nobody_took_back_in_time_is_seen_whoever_ends_or_renews_it(
    how: str, seconds: int, word: Word
) -> None:
    def forgotten(story: Story) -> None:
        story.job("a")
        story.claim("a", leased_until=story.now)
        story.wait(seconds)
        if how == "renewed":
            story.end("a", "running", worker="w", leased_until=story.now + SECOND)
        story.end("a", how.replace("renewed", "completed"))

    assert verdicts(forgotten)[10] is word


def test_a_lease_that_ran_out_while_nobody_was_able_is_excused() -> None:
    def away(story: Story) -> None:
        story.job("a")
        story.claim("a", leased_until=story.now)
        begun = story.now
        story.wait(40)
        story.note("fault", kind="server kill", begun=begun, outage=True)
        story.end("a")

    assert verdicts(away)[10] is Word.OK


def taken_away(story: Story, how: str) -> None:
    """A job that its worker runs is cancelled, completed from outside, deleted or taken back."""
    story.job("a")
    story.claim("a", "t1")
    match how:
        case "cancelled":
            story.end("a", "cancelled", token=None)
            story.call("cancel", "ok", {"chain": "a"}, status="cancelled")
        case "completed":
            story.end("a", "completed", token=None)
            story.call("complete", "ok", {"chain": "a"}, job="a")
        case "deleted":
            story.delete("a")
            story.call("delete", "ok", {"chains": ["a"]}, deleted=["a"])
        case _:
            story.reap("a")
            story.claim("a", "t2")


@pytest.mark.parametrize("how", ["cancelled", "completed", "deleted", "taken back"])
@pytest.mark.parametrize("verb", ["renew", "progress"])
def test_what_is_accepted_after_a_claim_has_ended_is_stale_however_it_ended(verb: str, how: str) -> None:
    def accepted(story: Story) -> None:
        taken_away(story, how)
        story.wait(2)
        story.note("accepted", verb=verb, asked=story.now, claims=[("a", "t1")])

    assert verdicts(accepted)[7] is Word.VIOLATED


def test_what_is_accepted_while_the_end_may_not_have_committed_is_not() -> None:
    def passed_over(story: Story) -> None:
        story.job("a", tx="1")
        story.claim("a", "t1", tx="2")
        story.end("a", "cancelled", token=None, tx="3")
        story.wait(2)
        story.note("accepted", verb="renew", asked=story.now, claims=[("a", "t1")])
        story.call("cancel", "ok", {"chain": "a"}, status="cancelled")

    assert verdicts(passed_over)[7] is not Word.VIOLATED


@pytest.mark.parametrize("field", ["leased_until", "token"])
def test_a_lease_or_a_token_upon_a_row_that_does_not_run_is_seen_in_the_audit_alone(field: str) -> None:
    written = {"leased_until": 2_000 * SECOND, "token": None} if field == "leased_until" else {"token": "t1"}

    def renewed(story: Story) -> None:
        story.job("a")
        story.claim("a", "t1")
        story.end("a", "cancelled", token=None)
        story.wait(2)
        story.end("a", "cancelled", **written)
        story.facts.durability = "everysec"

    assert verdicts(renewed)[7] is Word.VIOLATED


@pytest.mark.parametrize(
    ("reported", "attempt", "word"),
    [(True, 0, Word.OK), (True, 1, Word.VIOLATED), (False, 0, Word.OK), (False, 1, Word.OK)],
)
def test_a_release_that_was_written_gives_the_attempt_back(reported: bool, attempt: int, word: Word) -> None:
    def released(story: Story) -> None:
        story.job("a")
        story.claim("a", "t1")
        story.note("releasing", job="a", token="t1")
        story.end("a", "pending", attempt=attempt)
        if reported:
            story.note("settled", job="a", token="t1", status="pending", written=True)

    assert verdicts(released)[8] is word


@pytest.mark.parametrize(("lost", "word"), [(True, Word.OK), (False, Word.VACUOUS)])
def test_only_a_claim_that_follows_a_lost_one_could_overlap_another(lost: bool, word: Word) -> None:
    def again(story: Story) -> None:
        story.job("a")
        story.claim("a", "t1")
        if lost:
            story.reap("a")
        else:
            story.end("a", "pending")
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(again)[6] is word


@pytest.mark.parametrize(("meanwhile", "word"), [(True, Word.OK), (False, Word.VIOLATED)])
def test_others_complete_while_poison_kills_and_not_only_afterwards(meanwhile: bool, word: Word) -> None:
    def poisoned(story: Story) -> None:
        story.job("b")
        story.job("a", type="poison", max_attempts=1)
        story.claim("a", "t1")
        story.claim("b", "t2", leased_until=story.now + 60 * SECOND)
        if meanwhile:
            story.end("b")
        story.wait(5)
        story.reap("a")
        story.changes[-1] = replace(story.changes[-1], after="failed")
        if not meanwhile:
            story.end("b")

    assert verdicts(poisoned)[11] is word


@pytest.mark.parametrize(("total", "word"), [(20, Word.OK), (17, Word.VIOLATED), (5020, Word.VIOLATED)])
def test_a_snapshot_shows_as_many_jobs_as_there_were(total: int, word: Word) -> None:
    def counted(story: Story) -> None:
        for number in range(25):
            story.job(f"j{number}")
        for number in range(5):
            story.delete(f"j{number}")
            story.call("delete", "ok", {"chains": [f"j{number}"]}, deleted=[f"j{number}"])
        story.wait(1)
        story.call("stats", "ok", {}, total=total)

    assert verdicts(counted)[29] is word


@pytest.mark.parametrize("total", [0, 1])
def test_a_snapshot_may_or_may_not_show_what_nobody_was_told_of_yet(total: int) -> None:
    def open_still(story: Story) -> None:
        story.job("a")
        story.calls.clear()
        story.wait(1)
        story.call("stats", "ok", {}, total=total)
        story.wait(1)
        story.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])

    assert verdicts(open_still)[29] is Word.OK


def stopped(story: Story, *, seconds: float = 1.0, busy: bool = True) -> int:
    """A worker is asked to stop, hears it and ends; answers when it was asked."""
    story.job("a")
    story.claim("a", worker="w", leased_until=story.now + 60 * SECOND)
    if not busy:
        story.end("a")
    story.wait(0.1)
    asked = story.now
    story.note("event", kind="worker_stopping", job=None, attempt=None, detail="")
    if busy:
        story.end("a")
    story.wait(seconds)
    story.note("exit", worker="w", code=0, asked=asked)
    return asked


@pytest.mark.parametrize(("seconds", "word"), [(1.0, Word.OK), (50.0, Word.VIOLATED)])
def test_a_worker_that_was_asked_to_stop_ends_within_its_grace(seconds: float, word: Word) -> None:
    assert verdicts(lambda story: (stopped(story, seconds=seconds), None)[1])[21] is word


@pytest.mark.parametrize(("code", "word"), [(1, Word.VIOLATED), (-9, Word.VACUOUS), (139, Word.VACUOUS)])
def test_a_worker_ends_by_itself_only_if_it_is_killed(code: int, word: Word) -> None:
    assert verdicts(lambda story: story.note("exit", worker="w", code=code, asked=None))[21] is word


@pytest.mark.parametrize(
    ("reasons", "trouble", "word"),
    [
        (["error"] * 3, False, Word.VIOLATED),
        (["error"] * 3, True, Word.VACUOUS),
        (["error"], False, Word.VACUOUS),
        (["error"] * 3 + ["already_completed"] * 3, False, Word.VIOLATED),
        (["error"] * 3 + ["already_completed"] * 10, False, Word.VACUOUS),
    ],
)
def test_most_handlers_are_told_why_their_attempt_is_over(reasons: list[str], trouble: bool, word: Word) -> None:
    def thawed(story: Story) -> None:
        for number, reason in enumerate(reasons):
            job_id = f"j{number}"
            story.job(job_id)
            story.claim(job_id, "t1")
            story.reap(job_id)
            story.claim(job_id, "t2")
            story.end(job_id)
            if trouble:
                story.note("event", kind="store_error", job=None, attempt=None, detail="away")
            story.note("aborted", job=job_id, token="t1", reason=reason)

    assert verdicts(thawed)[7] is word


def test_an_abort_before_the_claim_has_ended_needs_no_reason() -> None:
    def fenced(story: Story) -> None:
        for number in range(3):
            story.job(f"j{number}")
            story.claim(f"j{number}", "t1")
            story.note("aborted", job=f"j{number}", token="t1", reason="error")
            story.reap(f"j{number}")

    assert verdicts(fenced)[7] is Word.VACUOUS


def test_a_worker_that_no_store_answers_may_take_longer() -> None:
    def away(story: Story) -> None:
        asked = stopped(story, seconds=50)
        story.note("fault", kind="server kill", begun=asked, outage=True)

    assert verdicts(away)[21] is Word.VACUOUS


def test_a_worker_that_had_nothing_to_do_shows_nothing_by_ending() -> None:
    assert verdicts(lambda story: (stopped(story, busy=False), None)[1])[21] is Word.VACUOUS


@pytest.mark.parametrize(
    ("seconds", "given_back", "word"), [(0.1, True, Word.OK), (0.1, False, Word.VIOLATED), (3.0, True, Word.VIOLATED)]
)
def test_only_a_claim_that_was_on_its_way_comes_after_the_order_and_is_given_back(
    seconds: float, given_back: bool, word: Word
) -> None:
    def on_its_way(story: Story) -> None:
        story.job("b")
        asked = stopped(story)
        exited = story.notes.pop()
        story.now = asked + round(seconds * SECOND)
        story.claim("b", "t2", worker="w")
        story.note("releasing", job="b", token="t2")
        story.end("b", "pending", attempt=0) if given_back else story.end("b")
        story.notes.append(Note("w", "exit", story.now + SECOND, exited.facts))

    assert verdicts(on_its_way)[21] is word


@pytest.mark.parametrize(("number", "word"), [(8, Word.OK), (9, Word.VIOLATED)])
def test_nobody_claims_more_at_once_than_it_can_run(number: int, word: Word) -> None:
    def many(story: Story) -> None:
        story.facts.concurrency, story.facts.timely = 8, False
        for place in range(number):
            story.job(f"j{place}")
        for place in range(number):
            story.claim(f"j{place}", "t1", tx="7")

    assert verdicts(many)[28] is word


@pytest.mark.parametrize(("made", "word"), [(100, Word.OK), (5000, Word.VIOLATED)])
def test_nobody_knocks_at_the_store_without_waiting_in_between(made: int, word: Word) -> None:
    def knocking(story: Story) -> None:
        story.facts.timely = False
        story.facts.leaks = {"connections made": made}
        for second in range(30):
            story.notes.append(Note("worker-1", "beat", story.now + second * SECOND, {}))

    assert verdicts(knocking)[28] is word


@pytest.mark.parametrize(("error", "word"), [(1_158, Word.VACUOUS), (20_000, Word.OK), (200_000, Word.VIOLATED)])
def test_errors_have_to_be_large_before_they_show_that_they_are_cut(error: int, word: Word) -> None:
    story = Story()
    story.job("a")
    story.claim("a")
    story.end("a", "failed")
    story.rows["a"] = {"error_bytes": error}

    assert {verdict.number: verdict.word for verdict in check(story.evidence())}[28] is word
