"""Delete chains: up to a hundred jobs in one script, more in several calls.

For more than a hundred jobs, all chains are checked first: if an unfinished job outside of them waits for one of them,
nothing is deleted. Then each call removes some of them, a chain only if no dependent of it is left. An interruption, by
a crash or by a new job that waits for one of the chains, leaves no job without its blocker. The remaining chains stay
complete, and the same delete can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.engine import operations as ops
from holdfast.errors import StillReferenced
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan, batches
from holdfast.stores.redis.verbs.script_errors import accepted


def delete(op: ops.Delete) -> ScriptPlan[list[str]]:
    if len(op.chain_ids) <= BATCH_SIZE:
        (reply,) = yield [ScriptCall("delete", (op.chain_ids, op.cascade, BATCH_SIZE, author(op.audit)), op.chain_ids)]
        if reply[0] != b"many":
            return [chain.decode() for chain in accepted(reply)]
    yield from release()
    deletable = yield from _to_delete(op)
    if references := (yield from _outside_dependents(list(deletable))):
        raise StillReferenced(references)
    yield from _remove(deletable, op.audit)
    return list(deletable)


def _to_delete(op: ops.Delete) -> ScriptPlan[dict[str, int]]:
    """The chains that exist, with `cascade` also their blockers recursively. Maps each to the number of its jobs."""
    deletable: dict[str, int] = {}
    seen: set[str] = set()
    ahead = list(dict.fromkeys(op.chain_ids))
    while ahead:
        found: dict[str, None] = {}
        while ahead:
            batch = ahead[:BATCH_SIZE]
            (reply,) = yield [ScriptCall("blockers", batch, batch)]
            for chain, (size, *blockers) in zip(batch, reply, strict=False):
                if int(size):
                    deletable[chain] = int(size)
                found |= dict.fromkeys(blocker.decode() for blocker in blockers)
            seen.update(batch[: len(reply)])
            ahead = ahead[len(reply) :]
        ahead = [chain for chain in found if chain not in seen] if op.cascade else []
    return deletable


def _outside_dependents(deletable: Sequence[str]) -> ScriptPlan[list[tuple[str, str]]]:
    """Pairs of one of these chains and an unfinished job of another chain that waits for it."""
    own = set(deletable)
    references: list[tuple[str, str]] = []
    for batch in batches(deletable):
        place, after = 1, "0"
        while place:
            batch = batch[place - 1 :]
            ((next_place, last, *rows),) = yield [ScriptCall("dependents", (batch, after, BATCH_SIZE), batch)]
            for chain, job, owner in rows:
                if owner.decode() not in own:
                    references.append((chain.decode(), job.decode()))
            place, after = int(next_place or 0), last.decode()
    return references


def _remove(deletable: dict[str, int], audit: ops.Audit | None) -> ScriptPlan[None]:
    """Remove the chains in rounds: a chain can only be removed with or after its dependents.

    Each round reverses the order.

    If a round removes nothing and no other job waits for these chains, they wait for each other. Then one call removes
    all of them, however many they are.
    """
    left = deletable
    stuck: set[str] = set()
    while left:
        removed: set[str] = set()
        for batch in [list(left)] if stuck == left.keys() else _batches_by_jobs(left):
            (reply,) = yield [ScriptCall("remove", (batch, author(audit)), batch)]
            removed.update(chain.decode() for chain in reply)
        rest = {chain: left[chain] for chain in reversed(left) if chain not in removed}
        stuck = set() if removed else set(rest)
        left = rest if removed else (yield from _still_there(rest, len(deletable)))


def _batches_by_jobs(chains: dict[str, int]) -> Iterator[Sequence[str]]:
    """The chains in batches of a hundred jobs. A longer chain is a batch of its own: a chain is removed whole."""
    batch: list[str] = []
    jobs = 0
    for chain, size in chains.items():
        if batch and jobs + size > BATCH_SIZE:
            yield batch
            batch, jobs = [], 0
        batch.append(chain)
        jobs += size
    if batch:
        yield batch


def _still_there(chains: dict[str, int], deletable: int) -> ScriptPlan[dict[str, int]]:
    """None of these could be removed: another process deleted them, started a dependent, or they have just ended."""
    yield from release()
    left = yield from _to_delete(ops.Delete(tuple(chains)))
    if references := (yield from _outside_dependents(list(left))):
        error = StillReferenced(references)
        error.add_note(f"that began a moment ago: {deletable - len(left)} of {deletable} are deleted")
        raise error
    return left
