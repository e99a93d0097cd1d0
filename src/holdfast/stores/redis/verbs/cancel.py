"""Cancel chains."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.record import ChainRecord
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.all_or_none import all_or_none
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan, pipelines


def cancel(op: ops.CancelChains) -> ScriptPlan[list[ChainRecord]]:
    together = len(op.chain_ids) <= BATCH_SIZE

    def call(ids: Sequence[str], check_only: bool) -> ScriptCall:
        payloads = Payloads()
        how = "ask" if check_only else "now" if together else "later"
        return ScriptCall(
            "cancel", (ids, payloads.add(op.reason), op.spare_running, how, author(op.audit)), ids, payloads
        )

    chains: list[ChainRecord] = []
    more = False
    for ids, reader in (yield from all_or_none(op.chain_ids, call)):
        more = reader.next() == b"more" or more
        chains += [reader.chain() for _ in ids]
    if not more:
        return chains
    yield from release()
    return chains if together else (yield from _read_again(op.chain_ids))


def _read_again(ids: Sequence[str]) -> ScriptPlan[list[ChainRecord]]:
    """Read the chains once more: the release may have changed chains that were not cancelled themselves."""
    chains: list[ChainRecord] = []
    for pipeline in pipelines(ids):
        for reply in (yield [ScriptCall("get_chains", batch, batch) for batch in pipeline]):
            reader = ReplyReader(reply)
            chains += [reader.chain() for found in reader if found == b"found"]
    return chains
