"""Write docs/names.md, the list of all names that `holdfast` exports: `python -m tools.names`.

Each name has the first paragraph of its docstring. A test compares the names of the page with those of the package.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import holdfast

PAGE = Path(__file__).parents[1] / "docs" / "names.md"

HEAD = """# Names

All names that `import holdfast` offers, each with the first lines of its documentation. `help(holdfast.NAME)` shows
the rest. For developers who look up a name. `python -m tools.names` writes this page.
"""

GROUPS = {
    "Declare": (
        "[quickstart](quickstart.md), [flow control](flow-control.md), [plugins](plugins.md)",
        "Jobs JobType Bound each Retry Limit Rate Order Plugin StartingJob Middleware Observer Event",
    ),
    "Start and read": (
        "[quickstart](quickstart.md), [transactions](transactions.md), [operating](operating.md)",
        "Client SyncClient Chain Job Status ErrorText Page Report Step AuditEntry Explanation Reason LiveWorker "
        "Counters TypeCounters MinuteCounts Counts Histogram FrequentError",
    ),
    "Handle": (
        "[transactions](transactions.md), [steps](steps.md), [workers](workers.md)",
        "Attempt SyncAttempt Reschedule Fail Cancel Suspended Failure",
    ),
    "Run": ("[workers](workers.md), [the supervisor](supervisor.md)", "Worker Supervisor Group"),
    "Named queues": (
        "[named queues](queue.md)",
        "Queue SyncQueue QueueJob Queued Duplicate Completed Reaper JsonCodec MsgpackCodec content_id",
    ),
    "Stores and wake-ups": ("[stores](stores.md), [wake-ups](wakeups.md)", "Store Wakeups ConnectedWakeups Hints"),
}


def page() -> str:
    """The text of the page."""
    names = {name for _, listed in GROUPS.values() for name in listed.split()}
    errors = [name for name in holdfast.__all__ if name not in names and _is_error(name)]
    if left := set(holdfast.__all__) - names - set(errors):
        raise ValueError(f"add these names to GROUPS in tools/names.py: {', '.join(sorted(left))}")
    groups = {**GROUPS, "Errors": ("`holdfast.errors`, which shows their tree", " ".join(errors))}
    return HEAD + "".join(_group(title, *group) for title, group in groups.items())


def _group(title: str, guides: str, names: str) -> str:
    rows = "".join(f"| `{name}` | {_about(name)} |\n" for name in names.split())
    return f"\n## {title}\n\nSee {guides}.\n\n| name | |\n| --- | --- |\n{rows}"


def _about(name: str) -> str:
    paragraph = (inspect.getdoc(getattr(holdfast, name)) or "").partition("\n\n")[0]
    return " ".join(paragraph.replace("``", "`").replace("|", "\\|").split())


def _is_error(name: str) -> bool:
    value = getattr(holdfast, name)
    return isinstance(value, type) and issubclass(value, holdfast.HoldfastError)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
