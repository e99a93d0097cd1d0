"""Mutants of exceptions in handlers: the end of the transaction, the worker, and the abort reason."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant

_CAUGHT = "        except BaseException as error:\n            note_error"
_NEXT_LINE = "            if task.cancelling():"

MUTANTS: dict[str, Mutant] = {
    "keep what is closed": Mutant(
        "the end of the transaction of a handler that raises GeneratorExit",
        (1, 10, 18, 30),
        everywhere=(
            Edit(
                "holdfast.worker.runner",
                _CAUGHT,
                f"        except GeneratorExit:\n            raise\n{_CAUGHT}",
            ),
            Edit(
                "holdfast.worker.slots",
                f"                if ends_task(error, task):\n                    raise\n{_NEXT_LINE}",
                f"                raise\n{_NEXT_LINE}",
            ),
        ),
        # On other stores the transaction is in the worker's memory, or the server ends it after the lease expires.
        stores=("sqlite",),
    ),
    "stop at any interrupt": Mutant(
        "the difference between a KeyboardInterrupt of a handler and a real Ctrl-C",
        (21,),
        everywhere=(
            Edit(
                "holdfast.engine.interruption",
                "\n        and signal.getsignal(signal.SIGINT) is signal.default_int_handler",
                "",
            ),
        ),
    ),
    "any reason will do": Mutant(
        "the read of the jobs from the store after a freeze",
        (7,),
        everywhere=(
            Edit("holdfast.worker.lease_guard", "reasons = self._reasons(expired) if expired else {}", "reasons = {}"),
        ),
        favour=("start_slow",),
        faults=("freeze",),
        longer=12.0,
    ),
}
