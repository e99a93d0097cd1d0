"""``python -m torture.table REPORT.json ...``: the reports of several runs as one table for a page of documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Report = dict[str, Any]


def _verdict(report: Report, number: int) -> Report:
    found: Report = next(each for each in report["verdicts"] if each["number"] == number)
    return found


def _broken(number: int) -> Callable[[Report], str]:
    return lambda report: f"**{_verdict(report, number)['broken']}** of {_verdict(report, number)['opportunities']:,}"


def _counted(number: int, name: str) -> Callable[[Report], str]:
    return lambda report: f"{_verdict(report, number)['counts'].get(name, 0):,}"


def _recovery(name: str) -> Callable[[Report], str]:
    def cell(report: Report) -> str:
        reported = report["recovery"].get(name)
        if not reported:
            return "-"
        times = f"{reported['p50']:.2f} / {reported['p99']:.2f} / {reported['max']:.2f} s"
        judged = f"{reported['beyond']} of {reported['times']:,} beyond {reported['bound']:g} s"
        # Also show how many cases these figures leave out.
        others = f"{reported['disturbed']:,} more were disturbed, longest of all {reported['whole']:.2f} s"
        return f"{times} ({judged}; {others})"

    return cell


def _faults(*kinds: str) -> Callable[[Report], str]:
    return lambda report: " + ".join(str(report["faults"].get(kind, 0)) for kind in kinds)


def _load(report: Report) -> str:
    load = report["load"]
    return f"{load['jobs']:,} / {load['claims']:,} / {load['changes']:,}"


def _starts(report: Report) -> str:
    starts = report["load"]["starts"]
    return " / ".join(f"{starts.get(each, 0):,}" for each in ("ok", "fail", "info"))


def _interruptions(report: Report) -> str:
    longest = _verdict(report, 30)["counts"].get("seconds from an interruption to the next call that succeeds max", 0)
    return f"{_counted(22, 'blocking calls interrupted')(report)}; {longest:.2f} s"


def _server(report: Report) -> str:
    kinds = ("server restart", "server stop fast", "server kill")
    return " + ".join(f"{report['faults'][kind]} {kind}" for kind in kinds if kind in report["faults"]) or "-"


def _points(report: Report) -> str:
    points = [where for each in report["failpoints"].values() for where in each]
    acted = sum(
        number
        for each in report["failpoints"].values()
        for counts in each.values()
        for action, number in counts.items()
        if action != "passed"
    )
    missing = sum(len(left) for left in report["not met"].values())
    return f"{len(points)} places, {acted} times, {missing} never"


def _left(report: Report) -> str:
    left = [
        f"{name.removeprefix('left: ')} {count or 0}" for name, count in report["leaks"].items() if "left: " in name
    ]
    return ", ".join(left)


def _growth(report: Report) -> str:
    leaks = report["leaks"]
    kinds = ("files", "threads", "tasks", "memory")
    return " / ".join(str(leaks.get(f"most growth in {kind}", 0)) for kind in kinds)


def _not_ok(report: Report) -> str:
    results: dict[str, list[str]] = {}
    for verdict in report["verdicts"]:
        result = verdict["word"]  # wording: a key of the reports
        if result != "OK":
            results.setdefault(result.lower(), []).append(f"I{verdict['number']}")
    reported = "; ".join(f"{result}: {', '.join(numbers)}" for result, numbers in results.items())
    return f"{report['verdict']} ({reported})"


ROWS: dict[str, Callable[[Report], str]] = {
    "seed, seconds": lambda report: f"{report['seed']}, {report['seconds']:g}",
    "commit": lambda report: report["versions"].get("commit", "-"),
    "jobs / claims / changes of rows": _load,
    "starts accepted / refused or rolled back / unknown": _starts,
    "processes killed (signal, failpoint, job, poison)": _faults("kill", "failpoint kill", "killed by a job", "poison"),
    "processes frozen (signal, failpoint, job)": _faults("freeze", "failpoint stop", "frozen by a job"),
    "event loop blocked, interpreter held": _faults("event loop blocked by a job", "interpreter held by a job"),
    "workers with a wrong clock; wake-ups lost, repeated": lambda report: (
        f"{_faults('workers with a wrong clock')(report)}; {_faults('wake-ups lost', 'wake-ups repeated')(report)}"
    ),
    "blocking calls interrupted; longest until the next call succeeded": _interruptions,
    "hosts lost, files replaced": _faults("host lost", "file replaced"),
    "crashes and restarts of the server": _server,
    "disk full, memory full": _faults("disk full", "memory full"),
    "connections gone dead, of them hung up by their client": lambda report: (
        f"{report['leaks'].get('connections gone dead', '-')}, "
        f"{report['leaks'].get('of them hung up by their client', '-')}"
    ),
    "time excused as an outage; kinds of fault that never happened": lambda report: (
        f"{report['excused']:.0%}; {', '.join(report['unharmed']) or 'none'}"
    ),
    "answers cut off after the request was received": lambda report: f"{report['leaks'].get('answers cut', '-')}",
    "failpoints": _points,
    "stale writes refused: settlements / renewals and guards": lambda report: " / ".join(
        f"{report['races'][name]:,}" for name in ("stale writes refused", "stale renewals and guards refused")
    ),
    "**accepted jobs lost** (I1)": _broken(1),
    "**effects missing or more than once** (I5)": _broken(5),
    "**overlapping leases** (I6)": _broken(6),
    "**stale writes accepted** (I7)": _broken(7),
    "jobs left blocked; blockers that ended within 0.1 s (I13)": lambda report: (
        f"{_broken(13)(report)}; {_counted(13, 'ties')(report)}"
    ),
    "worker killed to its job running again, p50 / p99 / max": _recovery("worker killed to its job running again"),
    "lost lease to reaped (I10)": _recovery("lease lost to the job reaped"),
    "lost lease to running again": _recovery("lease lost to the job running again"),
    "server back to first completion": _recovery("server back to the first completion"),
    "waiter notified, with wake-ups": _recovery("chain ended to its waiter notified, with wake-ups"),
    "waiter notified, without": _recovery("chain ended to its waiter notified, without"),
    "handler starts per completed job": lambda report: f"{report['executions']['starts per completed job']:.3f}",
    "left behind": _left,
    "most growth of a process: files / threads / tasks / MB": _growth,
    "most connections at once": lambda report: f"{report['leaks'].get('most connections', '-')}",
    "verdict": _not_ok,
}


def table(reports: list[Report]) -> str:
    heads = [f"{report['store']} {report['versions'].get(report['store'], '')}".strip() for report in reports]
    lines = ["| | " + " | ".join(heads) + " |", "| --- " * (len(reports) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(cell(report) for report in reports) + " |" for name, cell in ROWS.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table([json.loads(Path(name).read_bytes()) for name in sys.argv[1:]]) + "\n")
