"""The audit on Redis: `redis.call` is wrapped in every script, so that every change of a job's row is recorded.

The script itself appends the state of the row before and after the change to a stream. The states are the bytes that
the scripts wrote; `changes` decodes them after the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torture.audit import Change

if TYPE_CHECKING:
    from holdfast.core.record import Record

PRELUDE = """
local server = redis
local audit_root = KEYS[1]

local function audit(key, before, after)
  if before ~= after then
    server.call('XADD', audit_root .. ':changes', '*', 'k', key, 'b', before or '', 'a', after or '', 't', ARGV[3])
  end
end

local redis = { call = function(...)
  local command, key = ...
  local rows = {}
  if command == 'HSET' or command == 'HDEL' then
    rows[1] = key
  elseif command == 'DEL' or command == 'UNLINK' then
    rows = { select(2, ...) }
  end
  local befores = {}
  for n, row in ipairs(rows) do
    befores[n] = string.find(row, ':j:', 1, true) and server.call('HGET', row, 's')
  end
  local answer = server.call(...)
  for n, row in ipairs(rows) do
    if string.find(row, ':j:', 1, true) then
      audit(row, befores[n], server.call('HGET', row, 's'))
    end
  end
  return answer
end,
  pcall = server.pcall, sha1hex = server.sha1hex, error_reply = server.error_reply, status_reply = server.status_reply,
}
"""


def install() -> None:
    """Make this process send scripts with the audit."""
    from holdfast.stores.redis import script_loader

    plain: Any = getattr(script_loader, "_read")  # noqa: B009 - private on purpose: only the text of the scripts changes

    def read(path: str) -> str:
        text: str = plain(path)
        return PRELUDE + text if path == "shared/request.lua" else text

    changed: Any = script_loader
    changed._read = read


def changes(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> list[Change]:
    """The entries of the stream as changes."""
    from holdfast.stores.redis.verbs import decode

    return [_change(decode.record, number, id, fields) for number, (id, fields) in enumerate(entries, start=1)]


def _change(read: Any, number: int, id: bytes, fields: dict[bytes, bytes]) -> Change:
    job_id = fields[b"k"].decode().partition(":j:")[2]
    before, after = (_read(read, job_id, state) for state in (fields[b"b"], fields[b"a"]))
    known = after or before
    assert known is not None, "a change begins or ends with a row"
    return Change(
        seq=number,
        at=int(id.partition(b"-")[0]) * 1000,
        tx=fields[b"t"].decode().removeprefix("+"),
        id=job_id,
        chain=known.chain_id,
        index=known.index,
        type=known.type,
        before=_of(before, "status"),
        after=_of(after, "status"),
        attempt_before=before.attempt if before else 0,
        attempt=known.attempt,
        max_attempts=known.max_attempts,
        token_before=_of(before, "token"),
        token=_of(after, "token"),
        leased_before=_of(before, "leased_until"),
        leased_until=_of(after, "leased_until"),
        scheduled_before=_of(before, "scheduled_at"),
        scheduled_at=_of(after, "scheduled_at"),
        priority=known.priority,
        worker_before=_of(before, "worker"),
        worker=_of(after, "worker"),
        key=known.key,
        finished_at=known.finished_at,
        keep=known.keep,
    )


def _read(read: Any, job_id: str, state: bytes) -> Record | None:
    """Decode a row with the library's own decoder. The audit does not contain payloads."""
    return read(job_id, state, b"") if state else None


def _of(row: Record | None, field: str) -> Any:
    """A field of a row, or None if there is no row; a status as its text."""
    value = getattr(row, field, None)
    return str(value) if field == "status" and value is not None else value
