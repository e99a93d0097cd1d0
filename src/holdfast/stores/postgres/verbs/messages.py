"""Send messages to chains, and read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.core.record import FINISHED
from holdfast.engine.operations import GetMessages, SendMessage
from holdfast.errors import AlreadyCompleted, ChainNotFound
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.sql.plan import Statement

_LOCK = SQL["send_lock"]
_SEND = SQL["send"]
_WAKE = SQL["send_wake"]
_GET = SQL["get_messages"]
_AWAITED = SQL["awaited_messages"]
_REMOVE = SQL["remove_messages"]


def send(context: PlanContext, op: SendMessage) -> Plan[bool]:
    yield from context.begin()
    yield from _lock(op.chain_id)
    given = {"chain_id": op.chain_id, "name": op.name, "value": op.value, "now": context.now}
    rows = yield Statement(_SEND, given)
    if not rows:
        return False
    yield from write_audit(context, op.audit, "send", [(op.chain_id, op.chain_id)])
    job_id, token = rows[0]
    if job_id is not None:
        for id, chain_id, type, attempt in (yield Statement(_WAKE, {"id": job_id, "token": token, "now": context.now})):
            context.record("made_due", id, chain_id, type, attempt)
            context.hints.due.add(type)
            context.scan_starts.forget()
        yield from context.write_events()
    return True


def get_messages(context: PlanContext, op: GetMessages) -> Plan[list[bytes | None]]:
    chain_ids, names = [chain_id for chain_id, _ in op.names], [name for _, name in op.names]
    rows = yield Statement(_GET, {"chain_ids": chain_ids, "names": names})
    values = {(chain_id, name): value for chain_id, name, value in rows}
    return [values.get(each) for each in op.names]


def awaited_messages(job_ids: Collection[str]) -> Plan[dict[str, list[str]]]:
    """The messages that each of these jobs waits for, sorted by name. Jobs that wait for none are left out."""
    awaited: dict[str, list[str]] = {}
    for job_id, name in (yield Statement(_AWAITED, {"ids": list(job_ids)})):
        awaited.setdefault(job_id, []).append(name)
    return awaited


def remove_messages(chain_id: str, names: Sequence[str]) -> Plan[None]:
    """Delete messages of a chain."""
    if names:
        yield Statement(_REMOVE, {"chain_id": chain_id, "names": list(names)})


def _lock(chain_id: str) -> Plan[None]:
    """Lock the last job of the chain. It is read again, because the chain may continue or end during the wait."""
    locked: int | None = None
    while True:
        found = yield from chains.tails([chain_id])
        if chain_id not in found:
            raise ChainNotFound(chain_id)
        if found[chain_id].status in FINISHED:
            raise AlreadyCompleted(chain_id)
        if found[chain_id].seq == locked:
            return
        locked = found[chain_id].seq
        yield Statement(_LOCK, {"seq": locked})
