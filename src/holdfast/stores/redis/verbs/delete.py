"""Delete chains: up to a hundred jobs in one script, more in steps.

More than a hundred are looked at first, all of them: where an unfinished job outside waits for one of them, nothing is
deleted. Then they go in steps, each chain only when nothing that waits for it is left. So whatever ends this in
between, a crash or somebody who starts a job that waits for one of them, leaves no job without its blocker: it leaves
the rest of the chains, whole, and deleting the same again deletes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.engine import operations as ops
from holdfast.errors import StillReferenced
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import STEP, Asking, Call, steps
from holdfast.stores.redis.verbs.script_errors import accepted


def delete(op: ops.Delete) -> Asking[list[str]]:
    if len(op.chain_ids) <= STEP:
        (reply,) = yield [Call("delete", (op.chain_ids, op.cascade, STEP), op.chain_ids)]
        if reply[0] != b"many":
            return [chain.decode() for chain in accepted(reply)]
    yield from release()
    deletable = yield from _doomed(op)
    if stranded := (yield from _stranded(list(deletable))):
        raise StillReferenced(stranded)
    yield from _remove(deletable)
    return list(deletable)


def _doomed(op: ops.Delete) -> Asking[dict[str, int]]:
    """The chains that exist, and with `cascade` their blockers, and theirs; of each the number of its jobs."""
    deletable: dict[str, int] = {}
    seen: set[str] = set()
    ahead = list(dict.fromkeys(op.chain_ids))
    while ahead:
        found: dict[str, None] = {}
        while ahead:
            some = ahead[:STEP]
            (reply,) = yield [Call("blockers", some, some)]
            for chain, (size, *blockers) in zip(some, reply, strict=False):
                if int(size):
                    deletable[chain] = int(size)
                found |= dict.fromkeys(blocker.decode() for blocker in blockers)
            seen.update(some[: len(reply)])
            ahead = ahead[len(reply) :]
        ahead = [chain for chain in found if chain not in seen] if op.cascade else []
    return deletable


def _stranded(deletable: Sequence[str]) -> Asking[list[tuple[str, str]]]:
    """Chains of these, and unfinished jobs of others that wait for them."""
    own = set(deletable)
    stranded: list[tuple[str, str]] = []
    for some in steps(deletable):
        place, after = 1, "0"
        while place:
            some = some[place - 1 :]
            ((go_on, last, *rows),) = yield [Call("dependents", (some, after, STEP), some)]
            for chain, job, owner in rows:
                if owner.decode() not in own:
                    stranded.append((chain.decode(), job.decode()))
            place, after = int(go_on or 0), last.decode()
    return stranded


def _remove(deletable: dict[str, int]) -> Asking[None]:
    """Round after round, since a chain goes only with or after those that wait for it; each from the other end.

    What a whole round left as it was, and nobody else waits for, waits for each other: that goes in one step, however
    much it is.
    """
    left = deletable
    stuck: set[str] = set()
    while left:
        gone: set[str] = set()
        for some in [list(left)] if stuck == left.keys() else _light(left):
            (reply,) = yield [Call("remove", some, some)]
            gone.update(chain.decode() for chain in reply)
        rest = {chain: left[chain] for chain in reversed(left) if chain not in gone}
        stuck = set() if gone else set(rest)
        left = rest if gone else (yield from _still_there(rest, len(deletable)))


def _light(chains: dict[str, int]) -> Iterator[Sequence[str]]:
    """The chains in pieces of a hundred jobs; one that has more by itself, since a chain goes whole."""
    some: list[str] = []
    jobs = 0
    for chain, size in chains.items():
        if some and jobs + size > STEP:
            yield some
            some, jobs = [], 0
        some.append(chain)
        jobs += size
    if some:
        yield some


def _still_there(chains: dict[str, int], deletable: int) -> Asking[dict[str, int]]:
    """None of these could be removed: somebody deleted them, has begun to wait for them, or they have just ended."""
    yield from release()
    left = yield from _doomed(ops.Delete(tuple(chains)))
    if stranded := (yield from _stranded(list(left))):
        error = StillReferenced(stranded)
        error.add_note(f"that began a moment ago: {deletable - len(left)} of {deletable} are deleted")
        raise error
    return left
