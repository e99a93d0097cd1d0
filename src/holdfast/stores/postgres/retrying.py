"""The tries of one operation: which plan each try runs, and whether there is another try."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Generic, TypeVar

from holdfast.engine.operations import ClaimJobs, Operation, RunNow
from holdfast.errors import Conflict, HoldfastError
from holdfast.stores.postgres.errors import RetrySchedule, sqlstate, translated
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.claim import claim_again
from holdfast.stores.postgres.verbs.plans import VERBS, Verb
from holdfast.stores.postgres.verbs.run_now import run_now

R = TypeVar("R")

_EXISTS: Final = "23505"
"""An id already exists. The first try of a start assumes that it does not; later tries skip such ids."""


class Tries(Generic[R]):
    """Performs an operation on one server, and repeats it after some errors: see `RetrySchedule`."""

    def __init__(self, operation: Operation[R], store: str, schema: str) -> None:
        self._operation = operation
        self._store = store
        self._schema = schema
        self._schedule = RetrySchedule()
        self._verb: Verb = VERBS[operation.verb]
        self.again = False
        """True after the first try."""
        self._unsure = False

    def plan(self, context: PlanContext) -> Plan[R]:
        """The plan of this try."""
        context.unsure = self._unsure
        return self._verb(context, self._operation)

    def pause(self, error: BaseException, context: PlanContext) -> float:
        """Seconds to wait after a failed try. Raises the error for the caller if there is no further try."""
        operation = self._operation
        if not isinstance(error, Exception):
            raise error
        first, self.again = not self.again, True
        if operation.verb == "start" and (isinstance(error, Conflict) or (first and sqlstate(error) == _EXISTS)):
            return 0.0
        if isinstance(error, HoldfastError):
            raise error
        pause = self._schedule.pause(operation, error)
        if pause is None:
            shown = translated(error, self._store, self._schema, operation.verb)
            if shown is error:
                raise error
            raise shown from error
        self._unsure = True
        self._verb = _after_lost_answer(operation, self._verb, context)
        return pause


def _after_lost_answer(operation: Operation[Any], verb: Verb, tried: PlanContext) -> Verb:
    """The verb for another try, after one that may have committed although its answer was lost.

    A claim first looks for the jobs that the earlier try claimed. Jobs that an earlier `run_now` made due may already
    run.
    """
    if isinstance(operation, ClaimJobs):
        return claim_again
    if isinstance(operation, RunNow) and tried.now and verb is run_now:
        return partial(run_now, since=tried.now)
    return verb
