"""Functions, generated from the statements of a start, that let a role without rights on the tables start chains.

Each function runs one statement of a start with the rights of the owner of the schema (SECURITY DEFINER). Its body is
the text of the statement, so no statement is written twice. A role that may insert into the tables sends the statements
themselves. A role that may only execute the functions calls them instead, with the same parameters.

A caller may pass any values. So a function omits the parameters that a start does not need (`fixed`), checks the others
(`BOUNDS`), and changes only the rows that a start may change (`instead`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.lifecycle import OPTIONS
from holdfast.registry.options import MAX_TEXT
from holdfast.stores.postgres.rows import SQL

SKIP_EXISTING: Final = "on conflict (id) do nothing"

_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]+)::([a-z]+(?:\[\])?)")
_CENTURY: Final = 100 * 366 * 86400 * 1_000_000

_DURATION: Final = f"value between 0 and {_CENTURY}"
_MOMENT: Final = f"value between {-(10**18)} and {10**18}"
_NAME: Final = f"char_length(value) between 1 and {MAX_TEXT}"
_INTEGER: Final = "value between -2147483648 and 2147483647"
_RULE: Final = f"value in ('wait', 'fail', '{WHEN_FAILED}', '{WHEN_ENDED}')"
_COUNT: Final = "value between 0 and 2147483647"

BOUNDS: Final[Mapping[str, str]] = {
    "id": _NAME,
    "ids": _NAME,
    "type": _NAME,
    "types": _NAME,
    "keys": _NAME,
    "priority": _INTEGER,
    "priorities": _INTEGER,
    "delay": _DURATION,
    "delays": _DURATION,
    "at": _MOMENT,
    "ats": _MOMENT,
    **dict.fromkeys(OPTIONS, _DURATION),
    "max_attempts": _COUNT,
    "due_within": _DURATION,
    "blockers": _COUNT,
    "open_blockers": _COUNT,
    "on_blocker_failure": _RULE,
    "on_blocker_failures": _RULE,
}
"""The limits that the client checks before a start. With a larger value, a statement of a worker could fail."""

_NOW: Final = {"now": "null::bigint"}
"""A function uses the clock of the server. A caller cannot pass another time."""

_DEPENDS_ON_FAILURE: Final = (
    "job.on_blocker_failure = 'fail' and exists (select 1 from holdfast.blocker join holdfast.job ended"
    " on ended.chain_id = blocker.chain_id where blocker.job_id = job.id and ended.status in ('failed', 'cancelled'))"
)
_NONE_FAILED: Final = (
    "job.on_blocker_failure = 'when_failed' and not exists (select 1 from holdfast.blocker join holdfast.job other"
    " on other.chain_id = blocker.chain_id where blocker.job_id = job.id and other.status <> 'completed')"
)
_ENDED_THEN: Final = (
    "where happened.kind in ('failed', 'cancelled')"
    " and exists (select 1 from holdfast.job where job.id = happened.job_id"
    " and job.chain_id = happened.chain_id and job.type = happened.type and job.status = happened.kind"
    " and job.finished_at = happened.at)"
)
_SHOWN: Final = "jsonb_populate_record(row({0}.*)::holdfast.record, '{{\"token\": null}}')"
"""A job without the token of its claim."""


@dataclass(frozen=True, slots=True)
class StartFunction:
    """The function for one statement of a start."""

    name: str
    returns: tuple[str, ...] = ()
    """The types of its columns."""
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameters that the caller cannot choose, and their values."""
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parts of the statement to replace, to hide columns or to restrict the rows that it changes."""
    columns: str = "called.*"
    """The columns that a call selects."""

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the function and their types, in order."""
        found = dict(_PARAMETER.findall(SQL[self.name]))
        return {name: kind for name, kind in found.items() if name not in self.fixed}

    @property
    def call(self) -> str:
        """The statement that calls the function, with the same parameters as the statement that it runs."""
        given = ", ".join(f":{name}::{kind}" for name, kind in self.parameters.items())
        return f"select {self.columns} from holdfast.start_{self.name}({given}) called"  # noqa: S608 - our own names

    @property
    def definition(self) -> str:
        """The statements that create the function. Only the owner may execute it until EXECUTE is granted."""
        kinds = ", ".join(self.parameters.values())
        returns = ", ".join(f"_{number} {kind}" for number, kind in enumerate(self.returns, 1))
        result = f"table ({returns})" if self.returns else "void"
        lines = "\n    ".join([*self._checks(), f"{'return query ' if self.returns else ''}{self._body()};"])
        return (
            f"create function holdfast.start_{self.name}({kinds}) returns {result}\n"
            f"language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$\n"
            f"begin\n    {lines}\nend $function$;\n"
            f"revoke all on function holdfast.start_{self.name}({kinds}) from public;\n"
        )

    def _body(self) -> str:
        indexes = list(self.parameters)

        def written(found: re.Match[str]) -> str:
            name, kind = found[1], found[2]
            return self.fixed[name] if name in self.fixed else f"${indexes.index(name) + 1}::{kind}"

        text = SQL[self.name]
        for part, other in self.instead.items():
            assert part in text, f"{self.name} has no {part!r}"
            text = text.replace(part, other, 1)
        return _PARAMETER.sub(written, text)

    def _checks(self) -> list[str]:
        """Statements that reject values which no client sends."""
        if not self.name.startswith(("insert", "replace")):
            return []
        checks: list[str] = []
        for index, (name, kind) in enumerate(self.parameters.items(), 1):
            if name in BOUNDS:
                values = (
                    f"unnest(${index}) given (value)" if kind.endswith("[]") else f"(select ${index}) given (value)"
                )
                found = f"exists (select 1 from {values} where not ({BOUNDS[name]}))"  # noqa: S608 - our own names
                problem = f"raise exception '{name} is out of range' using errcode = '22023'"
                checks.append(f"if {found} then {problem}; end if;")
        return checks


_INSERTED: Final = ("bigint[]", "bigint", "boolean")

FUNCTIONS: Final = (
    StartFunction("moment", ("bigint", "boolean"), _NOW),
    StartFunction("insert_job", _INSERTED, _NOW),
    StartFunction("insert_similar_jobs", _INSERTED, _NOW),
    StartFunction("insert_jobs", _INSERTED, {**_NOW, "chain_ids": "'{}'::text[]", "chain_indexes": "'{}'::int[]"}),
    StartFunction("find_ids", ("text", "text")),
    StartFunction("find_keys", ("bigint", "text")),
    StartFunction("find_replaced", ("bigint", "text")),
    StartFunction("forget_blockers"),
    StartFunction("replace_chain", ("bigint", "bigint", "boolean"), _NOW),
    StartFunction("lock_keys", ("integer",), _NOW),
    StartFunction("lock_jobs", ("bigint", "boolean"), _NOW),
    StartFunction("tails", ("text", "bigint", "text", "text", "boolean")),
    StartFunction("await"),
    StartFunction(
        "fail_blocked",
        ("bigint", "text", "text", "text", "bigint", "text", "boolean", "boolean"),
        instead={"returning": f"and {_DEPENDS_ON_FAILURE} returning"},
    ),
    StartFunction(
        "cancel_waiting",
        ("bigint", "text", "text", "text", "boolean"),
        instead={"returning": f"and {_NONE_FAILED} returning"},
    ),
    StartFunction("record_events", instead={"order by": f"{_ENDED_THEN} order by"}),
    StartFunction(
        "chains",
        ("holdfast.record", "holdfast.record"),
        instead={"first.*, last.*": f"{_SHOWN.format('first')}, {_SHOWN.format('last')}"},
        columns="(called._1).*, (called._2).*",
    ),
    # For the events of a start with `tx=`. A mark has a random id, so a caller can find and delete its own marks only.
    StartFunction("mark"),
    StartFunction("find_marks", ("text",)),
)


def for_new_ids(statement: str) -> str:
    """A statement that inserts jobs, without the check whether an id exists."""
    assert statement.count(SKIP_EXISTING) == 1, f"no `{SKIP_EXISTING}` in: {statement}"
    return statement.replace(SKIP_EXISTING, "")


CALLS: Final[Mapping[str, str]] = {
    **{SQL[each.name]: each.call for each in FUNCTIONS},
    **{for_new_ids(SQL[each.name]): each.call for each in FUNCTIONS if SKIP_EXISTING in SQL[each.name]},
}
"""The call for a statement, by the text of the statement. A call always skips an id that exists."""


def migration() -> str:
    """The migration that creates the functions."""
    return "\n".join(each.definition for each in FUNCTIONS)
