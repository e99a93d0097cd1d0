"""Operations on named jobs or chains that change all of them or none.

Up to a hundred are one script, which is atomic. For more, calls that change nothing check all of them first; then each
call changes a hundred. If another process changes one of them in between, the plan stops with an error that says how
many were changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.errors import HoldfastError
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan, batches, pipelines
from holdfast.stores.redis.verbs.script_errors import accepted


def all_or_none(
    ids: Sequence[str], call: Callable[[Sequence[str], bool], ScriptCall], *, wanted: str = ""
) -> ScriptPlan[list[tuple[Sequence[str], ReplyReader]]]:
    """The ids of each batch and the reply to it. `call` builds a call for some ids; True asks only for the check."""
    if len(ids) > BATCH_SIZE:
        for pipeline in pipelines(ids):
            for reply in (yield (call(batch, True) for batch in pipeline)):
                accepted(reply, wanted=wanted)
    done: list[tuple[Sequence[str], ReplyReader]] = []
    for batch in batches(ids):
        (reply,) = yield [call(batch, False)]
        try:
            done.append((batch, accepted(reply, wanted=wanted)))
        except HoldfastError as error:
            if done:
                changed = len(done) * BATCH_SIZE
                error.add_note(f"another process changed it after the check: the first {changed} are changed")
            raise
    return done
