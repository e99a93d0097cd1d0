"""The tries of one operation: what each does, and whether there is another."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Generic, TypeVar

from holdfast.engine.operations import ClaimJobs, Operation, RunNow
from holdfast.errors import Conflict, HoldfastError
from holdfast.stores.postgres.errors import Patience, sqlstate, translated
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.verbs.claim import claim_again
from holdfast.stores.postgres.verbs.operate import run_now
from holdfast.stores.postgres.verbs.plans import VERBS, Verb
from holdfast.stores.sql.plan import Plan

R = TypeVar("R")

_EXISTS: Final = "23505"
"""An id that is there already. The first try of a start relies on its not being; another passes it over."""


class Tries(Generic[R]):
    """Performs an operation on one server, again where an error lets it: see `Patience`."""

    def __init__(self, operation: Operation[R], store: str, schema: str) -> None:
        self._operation = operation
        self._store = store
        self._schema = schema
        self._patience = Patience()
        self._verb: Verb = VERBS[operation.verb]
        self.again = False
        """Whether this is not the first try."""
        self._unsure = False

    def plan(self, turn: Turn) -> Plan[R]:
        """What this try does."""
        turn.unsure = self._unsure
        return self._verb(turn, self._operation)

    def pause(self, error: BaseException, turn: Turn) -> float:
        """How long to wait after a try that failed so. Raises what the caller should see where there is no other."""
        operation = self._operation
        if not isinstance(error, Exception):
            raise error
        first, self.again = not self.again, True
        if operation.verb == "start" and (isinstance(error, Conflict) or (first and sqlstate(error) == _EXISTS)):
            return 0.0
        if isinstance(error, HoldfastError):
            raise error
        pause = self._patience.pause(operation, error)
        if pause is None:
            shown = translated(error, self._store, self._schema, operation.verb)
            if shown is error:
                raise error
            raise shown from error
        self._unsure = True
        self._verb = _after_lost_answer(operation, self._verb, turn)
        return pause


def _after_lost_answer(operation: Operation[Any], verb: Verb, tried: Turn) -> Verb:
    """The verb for another try, after one whose answer may have been lost.

    A claim first looks for what it took then, or by half. Jobs that were hurried then may have begun to run.
    """
    if isinstance(operation, ClaimJobs):
        return claim_again
    if isinstance(operation, RunNow) and tried.now and verb is run_now:
        return partial(run_now, since=tried.now)
    return verb
