"""Tell the jobs that wait for a chain that it ended, a hundred in a step.

Whoever ends a chain that more of them wait for goes on until all are told. If it dies before that, the next to reap
goes on.
"""

from __future__ import annotations

from holdfast.stores.redis.verbs.script_call import Asking, Call
from holdfast.stores.redis.verbs.script_errors import pairs


def release() -> Asking[tuple[tuple[str, str], ...]]:
    """Until there are no more; answers (id, type) of those that stopped being blocked.

    Two that do this at once share the work: a step tells each job once, and the next begins where it ended.
    """
    unblocked: tuple[tuple[str, str], ...] = ()
    more = True
    while more:
        ((word, *reported),) = yield [Call("release")]
        unblocked += pairs(reported)
        more = word == b"more"
    return unblocked
