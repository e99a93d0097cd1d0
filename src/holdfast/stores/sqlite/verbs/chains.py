"""Read chains: the first job and the last job of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.core.record import ChainRecord, Record
from holdfast.errors import ChainNotFound
from holdfast.stores.sql.plan import Plan, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record, split_record

_CHAINS = SQL["chains"]
_RECORDS = SQL["records"]


def read(ids: Iterable[str]) -> Plan[dict[str, ChainRecord]]:
    """The chains with these ids by id. Ids of chains that do not exist are left out."""
    rows = yield Statement(_CHAINS, {"ids": as_json(ids)})
    firsts = [(first, last_seq) for first, (last_seq,) in map(split_record, rows)]
    longer = [last_seq for first, last_seq in firsts if last_seq != first.seq]
    lasts: dict[int, Record] = {}
    if longer:
        for row in (yield Statement(_RECORDS, {"seqs": as_json(longer)})):
            last = record(row)
            lasts[last.seq] = last
    return {first.id: ChainRecord(first, lasts.get(last_seq, first)) for first, last_seq in firsts}


def need(ids: Sequence[str]) -> Plan[list[ChainRecord]]:
    """The chains with these ids, in the given order. Raises ChainNotFound for the first id that does not exist."""
    found = yield from read(ids)
    for chain_id in ids:
        if chain_id not in found:
            raise ChainNotFound(chain_id)
    return [found[chain_id] for chain_id in ids]
