"""The audit on Redis: every script's `redis.call` is wrapped, so that a job's row cannot change unseen.

A row's state before and after goes into a stream in the same script. It is kept as the bytes that the scripts wrote,
and read here afterwards.
"""

from __future__ import annotations

from typing import Any

import msgspec

from torture.audit import Change

PRELUDE = """
local server = redis
local audit_root = KEYS[1]

local function audit(key, before, after)
  if before ~= after then
    server.call('XADD', audit_root .. ':audit', '*', 'k', key, 'b', before or '', 'a', after or '', 't', ARGV[3])
  end
end

local redis = { call = function(command, key, ...)
  local rows = {}
  if command == 'HSET' or command == 'HDEL' then
    rows[1] = key
  elseif command == 'DEL' or command == 'UNLINK' then
    rows = { key, ... }
  end
  local befores = {}
  for n, row in ipairs(rows) do
    befores[n] = string.find(row, ':j:', 1, true) and server.call('HGET', row, 's')
  end
  local answer = server.call(command, key, ...)
  for n, row in ipairs(rows) do
    if string.find(row, ':j:', 1, true) then
      audit(row, befores[n], server.call('HGET', row, 's'))
    end
  end
  return answer
end, sha1hex = server.sha1hex, error_reply = server.error_reply, status_reply = server.status_reply }
"""

_LETTERS = {"b": "blocked", "p": "pending", "r": "running", "c": "completed", "f": "failed", "x": "cancelled"}


def install() -> None:
    """Have this process send audited scripts."""
    from holdfast.stores.redis import library

    plain: Any = getattr(library, "_read")  # noqa: B009 - private on purpose: only the text of the scripts changes

    def read(path: str) -> str:
        text: str = plain(path)
        return PRELUDE + text if path == "shared/frame.lua" else text

    changed: Any = library
    changed._read = read


def changes(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> list[Change]:
    """The entries of the stream, as changes."""
    return [_change(number, id, fields) for number, (id, fields) in enumerate(entries, start=1)]


def _change(number: int, id: bytes, fields: dict[bytes, bytes]) -> Change:
    job_id = fields[b"k"].decode().partition(":j:")[2]
    before, after = _state(fields[b"b"]), _state(fields[b"a"])
    known: Any = after or before
    old: Any = before or [None] * 25
    new: Any = after or [None] * 25
    return Change(
        seq=number,
        at=int(id.partition(b"-")[0]) * 1000,
        tx=fields[b"t"].decode().removeprefix("+"),
        id=job_id,
        chain=known[2] or job_id,
        index=known[3],
        type=known[1],
        before=None if before is None else _LETTERS[old[4]],
        after=None if after is None else _LETTERS[new[4]],
        attempt_before=old[6] or 0,
        attempt=(new[6] if after is not None else old[6]) or 0,
        max_attempts=_int(known[7]),
        token_before=old[10],
        token=new[10],
        leased_before=_int(old[11]),
        leased_until=_int(new[11]),
        scheduled_before=_int(old[16]),
        scheduled_at=_int(new[16]),
        worker_before=old[9],
        worker=new[9],
        key=known[8],
        finished_at=_int(known[18]),
        keep=_int(known[20]),
    )


def _state(packed: bytes) -> list[Any] | None:
    return msgspec.msgpack.decode(packed) if packed else None


def _int(value: Any) -> int | None:
    return None if value is None else int(value)
