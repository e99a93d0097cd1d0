"""The result of a simulation, compared with the prediction of its work kinds. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.codec.codec import plain
from holdfast.core.clock import SECOND
from holdfast.core.record import Record, Status
from holdfast.simulation.work_kinds import WorkKind, predict


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from creation to the end, including retries and their delays."""

    median: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class KindReport:
    """The jobs of one kind."""

    kind: str
    jobs: int
    predicted: Status
    predicted_attempts: int
    outcomes: dict[str, int]
    attempts: int
    lost_attempts: int
    """Attempts beyond the prediction: the worker died or lost its lease."""
    wrong: int
    """Jobs whose status or output differs from the prediction, or that did not end."""
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """A whole simulation. `digest` is equal for two runs of a load if every job ended the same way."""

    jobs: int
    seed: int
    seconds: float
    throughput: float
    """Jobs that ended, per second."""
    retries: int
    latency: Latency | None
    kinds: list[KindReport]
    digest: str

    @property
    def wrong(self) -> int:
        return sum(kind.wrong for kind in self.kinds)

    @property
    def passed(self) -> bool:
        """Whether every job ended as predicted."""
        return self.wrong == 0


def report(
    work: Sequence[WorkKind], records: Sequence[Record | None], *, seed: int, seconds: float
) -> SimulationReport:
    """Compare the started jobs, in order, with their final records; None for a deleted job."""
    ended = [record for record in records if record is not None and record.finished_at is not None]
    kinds = list({kind.name: kind for kind in work}.values())
    numbered = list(enumerate(zip(work, records, strict=True)))
    reports = [
        _kind(kind, [(number, record) for number, (its, record) in numbered if its.name == kind.name], seed=seed)
        for kind in kinds
    ]
    return SimulationReport(
        jobs=len(work),
        seed=seed,
        seconds=seconds,
        throughput=len(ended) / seconds if seconds else 0.0,
        retries=sum(max(0, record.attempt - 1) for record in ended),
        latency=_latency(ended),
        kinds=reports,
        digest=_digest(work, records),
    )


def _kind(kind: WorkKind, jobs: list[tuple[int, Record | None]], *, seed: int) -> KindReport:
    prediction = predict(kind)
    records = [record for _, record in jobs if record is not None]
    return KindReport(
        kind=kind.name,
        jobs=len(jobs),
        predicted=prediction.status,
        predicted_attempts=prediction.attempts,
        outcomes=dict(Counter("gone" if record is None else str(record.status) for _, record in jobs)),
        attempts=sum(record.attempt for record in records),
        lost_attempts=sum(max(0, record.attempt - prediction.attempts) for record in records),
        wrong=sum(not _as_predicted(kind, record, number=number, seed=seed) for number, record in jobs),
        latency=_latency([record for record in records if record.finished_at is not None]),
    )


def _as_predicted(kind: WorkKind, record: Record | None, *, number: int, seed: int) -> bool:
    expected = predict(kind).status
    if record is None or record.status is not expected:
        return False
    output = None if record.output is None else plain(record.output)
    return output == (kind.seconds(seed, number) if expected is Status.COMPLETED else None)


def _latency(records: Sequence[Record]) -> Latency | None:
    if not records:
        return None
    times = sorted(((record.finished_at or 0) - record.created_at) / SECOND for record in records)
    return Latency(_quantile(times, 0.5), _quantile(times, 0.95), _quantile(times, 0.99), times[-1])


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _digest(work: Sequence[WorkKind], records: Sequence[Record | None]) -> str:
    digest = hashlib.sha256()
    for number, (kind, record) in enumerate(zip(work, records, strict=True)):
        ending = "gone" if record is None else f"{record.status} {(record.output or b'').decode()}"
        digest.update(f"{number} {kind.name} {ending}\n".encode())
    return digest.hexdigest()[:16]
