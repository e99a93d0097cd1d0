"""Failpoints: before and after every call of the store, a process may exit, freeze, or get an error.

Besides random failpoints there is a sweep: each worker and producer gets a few points that no process has reached yet,
until every point was reached once with every action. The history records how often each point was passed.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from holdfast.engine.operations import ClaimJobs, Guard, Operation, Renew, ReportProgress, SaveSteps, Settle, Settled
from holdfast.errors import ClaimLost, StoreUnavailable
from torture.history import History
from torture.settings import Failpoints

Action = Literal["kill", "stop", "fail"]

CRASH_VERBS = (
    "claim", "renew", "settle", "guard", "reap", "start", "complete", "cancel", "commit", "get_blockers",
    "save_steps", "get_steps",
)  # fmt: skip
"""Verbs at which random failpoints kill or freeze a process."""


class Watch:
    """Records the calls of a process to the store, and applies its failpoints."""

    def __init__(self, history: History, failpoints: Failpoints, met: Path | None = None) -> None:
        """`met` is the file to which the process appends each point of the sweep that it reached."""
        self._history = history
        self._failpoints = failpoints
        self._aims = set(failpoints.aims)
        self._met = met
        self._random = random.Random(failpoints.seed)
        self._lock = threading.Lock()
        self._passed: Counter[str] = Counter()

    def meet(self, verb: str, when: str) -> None:
        """Apply a failpoint, if one is set here: kill or stop the process, or raise StoreUnavailable."""
        with self._lock:
            self._passed[f"{when} {verb}"] += 1
            action = self._action(verb, when)
        if action is None:
            return
        self._history.note("failpoint", verb=verb, when=when, action=action)
        match action:
            case "kill":
                self.write_counts()
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case _:
                raise StoreUnavailable("torture", f"a failpoint {when} {verb}")

    def write_counts(self) -> None:
        """Record how often each point was passed so far."""
        with self._lock:
            passed = dict(self._passed)
        if passed:
            self._history.note("points", passed=passed)

    def _action(self, verb: str, when: str) -> Action | None:
        points = self._failpoints
        actions: tuple[Action, ...] = ("fail", "stop", "kill")
        for action in actions:
            if (aim := f"{action} {when} {verb}") in self._aims:
                self._aims.discard(aim)
                if self._met is not None:
                    with self._met.open("a") as file:
                        file.write(f"{aim}\n")
                return action
            if self._random.random() < points.often.get(aim, 0.0):
                return action
        if verb not in CRASH_VERBS or not (points.kill or points.stop):
            return None
        drawn = self._random.random()
        if drawn < points.kill:
            return "kill"
        return "stop" if drawn < points.kill + points.stop else None

    def asked(self, operation: Operation[Any]) -> int:
        """A call begins; returns the time. Claims and releases are recorded first: it may be the last call."""
        match operation:
            case ClaimJobs():
                self._history.note("claiming", token=operation.token, jobs=operation.limit + operation.ahead)
            case Settle(settlements=settlements):
                for settlement in settlements:
                    if settlement.outcome in ("released", "suspended"):
                        claim = settlement.claim
                        self._history.note("releasing", job=claim.job_id, token=claim.token)
            case _:
                pass
        return self._history.now()

    def answered(self, operation: Operation[Any], answer: Any, asked: int) -> None:
        match operation:
            case Settle(settlements=settlements):
                answers = cast("list[Settled]", answer)
                for settlement, settled in zip(settlements, answers, strict=True):
                    self._history.note(
                        "settled",
                        job=settlement.claim.job_id,
                        token=settlement.claim.token,
                        status=settlement.status.value,
                        written=settled.written,
                        lost=settled.lost,
                    )
            case Renew(claims=claims):
                for claim, reason in answer.items():
                    self._history.note("stale", verb="renew", job=claim.job_id, token=claim.token, reason=reason)
                good = [(claim.job_id, claim.token) for claim, _ in claims if claim not in answer]
                self._history.note("accepted", verb="renew", asked=asked, claims=good)
            case ReportProgress(claim=claim) if answer is not None:
                self._history.note("stale", verb="progress", job=claim.job_id, token=claim.token, reason=answer)
            case ReportProgress(claim=claim):
                self._history.note("accepted", verb="progress", asked=asked, claims=[(claim.job_id, claim.token)])
            case SaveSteps(checkpoints=checkpoints):
                reasons = cast(Sequence[str | None], answer)
                for checkpoint, reason in zip(checkpoints, reasons, strict=True):
                    claim = checkpoint.claim
                    if reason is None:
                        held = [(claim.job_id, claim.token)]
                        self._history.note("accepted", verb="save_steps", asked=asked, claims=held)
                    else:
                        self._history.note(
                            "stale", verb="save_steps", job=claim.job_id, token=claim.token, reason=reason
                        )
            case _:
                pass

    def raised(self, operation: Operation[Any], error: Exception) -> None:
        if isinstance(operation, Guard) and isinstance(error, ClaimLost):
            claim = operation.claim
            self._history.note("stale", verb="guard", job=claim.job_id, token=claim.token, reason=error.reason)
