"""The ids of hooks. A store that fails a job invents the id of the hook, and the stores differ in it."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.hooks import Failure
from holdfast.core.record import Record
from holdfast.engine.operations import Filter, ListJobs
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError
from tests.property.answers import raised

PARAMETER = "failure"
_START = b'{"failure":{'
_read = msgspec.json.Decoder(dict[str, Failure]).decode


class HookIds:
    """Finds the hooks of one store: its id by the failed job, and how many hooks that job had before."""

    def __init__(self) -> None:
        self.by_failure: dict[tuple[str, int], str] = {}
        self._known: set[str] = set()
        self._numbers: dict[str, int] = {}

    def find(self, store: Store, ids: dict[str, str]) -> None:
        """Look for new hooks. `ids` translates the ids of earlier hooks."""
        for job in store.perform_sync(ListJobs(Filter(), 1000))[::-1]:
            if job.id not in self._known and job.index == 0 and (failed := failed_job(job)) is not None:
                self._known.add(job.id)
                failed = ids.get(failed, failed)
                number = self._numbers.get(failed, 0)
                self._numbers[failed] = number + 1
                self.by_failure[failed, number] = job.id


def failed_job(job: Record) -> str | None:
    """The job whose hook this is."""
    return _read(job.input)[PARAMETER].job_id if job.input.startswith(_START) else None


def translated(value: Any, ids: dict[str, str]) -> Any:
    """The value with other ids. Texts inside of payloads are translated too."""
    if not ids:
        return value
    match value:
        case str() if value.startswith('{"origin":'):  # the details of a job
            return translated(value.encode(), ids).decode()
        case str():
            return ids.get(value, value)
        case bytes():
            for before, after in ids.items():
                value = value.replace(before.encode(), after.encode())
            return value
        case HoldfastError():
            return translated(raised(value), ids)
        case msgspec.Struct():
            fields = {each: translated(getattr(value, each), ids) for each in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
        case tuple() if hasattr(value, "_fields"):  # pyright: ignore[reportUnknownArgumentType]
            return type(value)(*(translated(each, ids) for each in value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return type(value)(translated(each, ids) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case dict():
            return {translated(key, ids): translated(each, ids) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return value
