"""Cancel, retry, run now, keep, pause, prune: what an operator does. Deleting is a page of its own.

Up to a hundred are one script, all or nothing. More are looked at first, all of them, and changed in steps of a hundred
afterwards: what somebody else changed in between stops it there, and the error tells how far it came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.core.record import ChainRecord, Record
from holdfast.engine import operations as ops
from holdfast.errors import HoldfastError
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.decode import Answer
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import STEP, Asking, Call, bursts, steps
from holdfast.stores.redis.verbs.script_errors import accepted, existing


def cancel(op: ops.Cancel) -> Asking[list[ChainRecord]]:
    together = len(op.chain_ids) <= STEP

    def call(ids: Sequence[str], asked: bool) -> Call:
        payloads = Payloads()
        how = "ask" if asked else "now" if together else "later"
        return Call("cancel", (ids, payloads.add(op.reason), op.spare_running, how), ids, payloads)

    chains: list[ChainRecord] = []
    more = False
    for ids, answer in (yield from _all_or_none(op.chain_ids, call)):
        more = answer.next() == b"more" or more
        chains += [answer.chain() for _ in ids]
    if not more:
        return chains
    yield from release()
    return chains if together else (yield from _again(op.chain_ids))


def _again(ids: Sequence[str]) -> Asking[list[ChainRecord]]:
    """The chains once more: those that ran on beside them may have been told since."""
    chains: list[ChainRecord] = []
    for burst in bursts(ids):
        for reply in (yield [Call("get_chains", some, some) for some in burst]):
            answer = Answer(reply)
            chains += [answer.chain() for word in answer if word == b"found"]
    return chains


def retry(op: ops.RetryJobs) -> Asking[list[Record]]:
    def call(ids: Sequence[str], asked: bool) -> Call:
        return Call("retry", (ids, asked), ids)

    done = yield from _all_or_none(op.job_ids, call, wanted="failed or cancelled")
    return [job for _, answer in done for job in existing(answer)]


def run_now(op: ops.RunNow) -> Asking[list[Record]]:
    def call(ids: Sequence[str], asked: bool) -> Call:
        return Call("run_now", (ids, asked), ids)

    done = yield from _all_or_none(op.job_ids, call, wanted="pending")
    return [job for _, answer in done for job in existing(answer)]


def _all_or_none(
    ids: Sequence[str], call: Callable[[Sequence[str], bool], Call], *, wanted: str = ""
) -> Asking[list[tuple[Sequence[str], Answer]]]:
    """The ids of each step, and the answer to it. Nothing is changed where one of them cannot be."""
    if len(ids) > STEP:
        for burst in bursts(ids):
            for reply in (yield (call(some, True) for some in burst)):
                accepted(reply, wanted=wanted)
    done: list[tuple[Sequence[str], Answer]] = []
    for some in steps(ids):
        (reply,) = yield [call(some, False)]
        try:
            done.append((some, accepted(reply, wanted=wanted)))
        except HoldfastError as error:
            if done:
                error.add_note(f"it was as it should be a moment before: the first {len(done) * STEP} are changed")
            raise
    return done


def pause(op: ops.Pause) -> Asking[None]:
    if op.types:
        yield [Call("pause", op.types)]


def resume(op: ops.Resume) -> Asking[None]:
    if op.types:
        yield [Call("resume", op.types)]


def keep(op: ops.Keep) -> Asking[list[bool | None]]:
    kept: list[bool | None] = []
    for ids in steps(op.chain_ids):
        (reply,) = yield [Call("keep", (ids, encode.number(op.keep)), ids)]
        kept += [_KEPT[word] for word in reply]
    return kept


_KEPT = {b"kept": True, b"unfinished": False, b"none": None}


def prune(op: ops.Prune) -> Asking[list[str]]:
    """Chains that something still refers to are passed by, and looked at again the next time."""
    pruned: list[str] = []
    passed = 0
    while len(pruned) < op.limit:
        ((kept, end, *chains),) = yield [Call("prune", (min(STEP, op.limit - len(pruned)), passed))]
        pruned += [chain.decode() for chain in chains]
        passed += int(kept)
        if end:
            break
    return pruned
