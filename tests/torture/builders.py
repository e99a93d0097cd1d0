"""A builder for evidence: writes the changes of jobs, calls and notes by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torture.audit import Change, Row
from torture.checker import Result, check
from torture.evidence import Evidence, Facts
from torture.history import Call, Note

SECOND = 1_000_000


class Scenario:
    """Writes an audit, change by change, each 10 milliseconds after the last."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.calls: list[Call] = []
        self.notes: list[Note] = []
        self.facts = Facts(store="sqlite", seed=1, profile="test", lease=1.0, reap=0.5, poll=1.0)
        self.now = 1_000 * SECOND
        self._last: dict[str, Change] = {}
        self.rows: dict[str, dict[str, Any]] = {}

    def job(self, id: str, *, after: str = "pending", **fields: Any) -> None:
        """Create a job, with the call that started it."""
        fields.setdefault("scheduled_at", self.now)
        fields.setdefault("chain", id)
        fields.setdefault("index", 0)
        fields.setdefault("type", "work")
        self._write(id, None, after, **fields)
        if not fields["index"] and fields["type"] != "effect":
            self.call("start", "ok", {"ids": [id]}, found=[id], deduplicated=[False])

    def claim(self, id: str, token: str = "t1", **fields: Any) -> None:
        last = self._last[id]
        fields = {"attempt": last.attempt + 1, "worker": "w", "leased_until": self.now + 2 * SECOND} | fields
        self._write(id, last.after, "running", token=token, **fields)

    def end(self, id: str, after: str = "completed", **fields: Any) -> None:
        """End an attempt, by default with its own token."""
        last = self._last[id]
        finished = {"finished_at": self.now} if after in ("completed", "failed", "cancelled") else {}
        released = {"token": last.token, "leased_until": None, "worker": None}
        self._write(id, last.after, after, **released | finished | fields)

    def reap(self, id: str, **fields: Any) -> None:
        self.now = max(self.now, (self._last[id].leased_until or 0) + 1)
        self.end(id, "pending", **{"token": None} | fields)

    def delete(self, id: str) -> None:
        self._write(id, self._last[id].after, None, token=None, leased_until=None, worker=None)

    def call(self, op: str, outcome: Any, args: dict[str, Any], **facts: Any) -> None:
        self.calls.append(Call("p", op, args, self.now, outcome, self.now + 1, facts))

    def note(self, what: str, **facts: Any) -> None:
        self.notes.append(Note("w", what, self.now, facts))

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    def evidence(self) -> Evidence:
        """The evidence. The rows have the last state of the audit, changed by `rows`."""
        self.facts.ended = self.now
        standing = {id: last for id, last in self._last.items() if last.after is not None}
        self.facts.rows = [_row(last, self.rows.get(id, {})) for id, last in standing.items()]
        self.facts.stats = {}
        for row in self.facts.rows:
            self.facts.stats[row.status] = self.facts.stats.get(row.status, 0) + 1
        return Evidence(self.facts, self.changes, self.calls, self.notes)

    def _write(self, id: str, before: str | None, after: str | None, **fields: Any) -> None:
        last = self._last.get(id)
        self.now += SECOND // 100
        kept: dict[str, Any] = {}
        if last is not None:
            names = ("chain", "index", "type", "key", "attempt", "max_attempts", "token", "leased_until",
                     "scheduled_at", "keep", "finished_at", "worker", "priority")  # fmt: skip
            kept = {name: getattr(last, name) for name in names}
            for name, of in (("attempt", "attempt"), ("token", "token"), ("leased", "leased_until"),
                             ("scheduled", "scheduled_at"), ("worker", "worker")):  # fmt: skip
                kept[f"{name}_before"] = getattr(last, of)
        change = Change(seq=len(self.changes) + 1, at=self.now, id=id, before=before, after=after, **kept | fields)
        self.changes.append(change)
        self._last[id] = change


def _row(last: Change, changed: dict[str, Any]) -> Row:
    fields: dict[str, Any] = {
        "id": last.id, "chain": last.chain, "index": last.index, "type": last.type, "status": last.after,
        "attempt": last.attempt, "token": last.token, "worker": last.worker, "key": last.key,
        "output": "done" if last.after == "completed" else None, "error_bytes": 0, "error": None, "open_blockers": 0,
        "on_blocker_failure": "wait", "scheduled_at": last.scheduled_at or 0,
    }  # fmt: skip
    return Row(**fields | changed)


WriteScenario = Callable[[Scenario], None]


def verdicts(write: WriteScenario) -> dict[int, Result]:
    scenario = Scenario()
    write(scenario)
    return {verdict.number: verdict.result for verdict in check(scenario.evidence())}
