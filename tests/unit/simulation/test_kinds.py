"""Work kinds: what they do is known before they run."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast import Retry, Status
from holdfast.simulation import Duration, Prediction, WorkKind, predict
from holdfast.simulation.load import load

THRICE = Retry(max_attempts=3)


@pytest.mark.parametrize(
    ("kind", "status", "attempts"),
    [
        (WorkKind(name="a"), Status.COMPLETED, 1),
        (WorkKind(name="a", fail_times=2, retry=THRICE), Status.COMPLETED, 3),
        (WorkKind(name="a", fail_times=3, retry=THRICE), Status.FAILED, 3),
        (WorkKind(name="a", fail_times=7, retry=Retry(max_attempts=None)), Status.COMPLETED, 8),
        (WorkKind(name="a", fail_times=10**15, retry=Retry(max_attempts=None)), Status.COMPLETED, 10**15 + 1),
        (WorkKind(name="a", fail_times=10**15, retry=Retry(max_attempts=1000)), Status.FAILED, 1000),
        (WorkKind(name="a", fail_times=1, retryable=False), Status.FAILED, 1),
        (WorkKind(name="a", outcome="fail", retry=THRICE), Status.FAILED, 3),
        (WorkKind(name="a", outcome="fail", retryable=False), Status.FAILED, 1),
        (WorkKind(name="a", outcome="cancel"), Status.CANCELLED, 1),
        (WorkKind(name="a", outcome="cancel", fail_times=1), Status.CANCELLED, 2),
    ],
)
def test_the_end_of_a_kind_is_predicted(kind: WorkKind, status: Status, attempts: int) -> None:
    assert predict(kind) == Prediction(status, attempts)


@pytest.mark.parametrize(
    "duration",
    [Duration(), Duration("uniform", (1, 2)), Duration("normal", (1, 0.2)), Duration("exponential", (0.5,))],
)
def test_the_same_input_takes_the_same_time_and_another_another(duration: Duration) -> None:
    kind = WorkKind(name="a", duration=duration)

    assert [kind.seconds(1, number) for number in range(9)] == [kind.seconds(1, number) for number in range(9)]
    drawn = {kind.seconds(seed, number) for seed in range(2) for number in range(9)}
    assert len(drawn) == (1 if duration.shape == "fixed" else 18)
    assert all(seconds >= 0 for seconds in drawn)


def test_draws_are_the_same_on_every_machine() -> None:
    assert Duration("uniform", (0, 1)).draw("1/a/2") == pytest.approx(0.6758495858045195)


def test_a_load_is_shared_out_by_weight_and_mixed_by_its_seed() -> None:
    kinds = [WorkKind(name="a", weight=2), WorkKind(name="b"), WorkKind(name="none", weight=0)]

    one, again, other = load(kinds, 100, seed=1), load(kinds, 100, seed=1), load(kinds, 100, seed=2)

    assert Counter(kind.name for kind in one) == {"a": 67, "b": 33}
    assert one == again
    assert one != other
    assert Counter(kind.name for kind in other) == {"a": 67, "b": 33}


def test_a_load_without_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to simulate"):
        load([WorkKind(name="a", weight=0)], 1, seed=0)


def test_a_kind_that_would_fail_forever_is_refused() -> None:
    with pytest.raises(ValueError, match="fail forever"):
        WorkKind(name="a", outcome="fail", retry=Retry(max_attempts=None))
