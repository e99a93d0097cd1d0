"""The report as one HTML page without external files."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1b2430; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .6rem; vertical-align: top; }
tr { border-bottom: 1px solid #dde3ea; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
.OK { color: #116329; } .VIOLATED { color: #a40e26; font-weight: bold; } .VACUOUS, .LOST { color: #7a5200; }
.NOT { color: #5b6675; } code { background: #f1f4f8; padding: .1rem .3rem; } small { color: #5b6675; }
@media (prefers-color-scheme: dark) {
  body { background: #10151c; color: #dbe2ea; } tr { border-color: #2a3440; } code { background: #1c2530; }
  .OK { color: #4ac26b; } .VIOLATED { color: #ff8182; } .VACUOUS, .LOST { color: #d4a72c; }
  .NOT, small { color: #8b98a8; }
}
"""


def as_page(summary: dict[str, Any]) -> str:
    """The content of the text report as HTML. Every value is escaped, because errors quote inputs of jobs."""
    title = f"Torture of {summary['store']}, seed {summary['seed']}, profile {summary['profile']}"
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    load = summary["load"]
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p><b>{escape(summary['verdict'])}</b> after {summary['seconds']} s. {escape(versions)}.</p>",
        f"<p><code>{escape(_command(summary))}</code></p>",
        "<h2>Invariants</h2>",
        _verdicts(summary),
        "<h2>Load</h2>",
        _pairs(
            {
                "jobs": load["jobs"],
                "a second": load["jobs a second"],
                "claims": load["claims"],
                "changes of rows": load["changes"],
            }
        ),
        _pairs({f"starts: {name}": value for name, value in load["starts"].items()}),
        _pairs({f"ended {name}": value for name, value in load["ended"].items()}),
        _pairs({f"asked to {name}": value for name, value in load["operations"].items()}),
        "<h2>Faults</h2>",
        _pairs(summary["faults"]),
        f"<p>{summary['excused']:.0%} of the time is excused as an outage of the store.</p>",
        *(["<h3>Tried without effect</h3>", _pairs(summary["tried"])] if summary["tried"] else []),
        *([f"<p>Never happened: {escape(', '.join(summary['unharmed']))}.</p>"] if summary["unharmed"] else []),
        "<h2>Failpoints met</h2>",
        *(_points(who, points) for who, points in summary["failpoints"].items()),
        "<h3>Never met</h3>",
        _pairs({who: ", ".join(left) for who, left in summary["not met"].items() if left}),
        "<h2>Races that really happened</h2>",
        _pairs(summary["races"]),
        "<h2>Recovery</h2>",
        _recovery(summary["recovery"]),
        "<h2>At least once</h2>",
        _pairs(summary["executions"]),
        *(["<h2>Acknowledged and lost</h2>", _pairs(summary["losses"])] if summary["losses"] else []),
        "<h2>Left behind</h2>",
        _pairs(summary["leaks"]),
        *(["<h2>Broke</h2>", _pairs(summary["broke"])] if summary["broke"] else []),
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return head + "\n".join(body) + "</html>\n"


def _verdicts(summary: dict[str, Any]) -> str:
    rows = ["<table><tr><th></th><th>Invariant</th><th>Broken</th><th>Opportunities</th><th>Verdict</th><th></th></tr>"]
    for verdict in summary["verdicts"]:
        counted = ", ".join(f"{name} {value}" for name, value in verdict.counts.items())
        detail = escape(verdict.reason or counted)
        detail += "".join(f"<br><small>{escape(violation)}</small>" for violation in verdict.violations)
        rows.append(
            f"<tr><td class=number>{verdict.number}</td><td>{escape(verdict.name)}</td>"
            f"<td class=number>{verdict.broken}</td><td class=number>{verdict.opportunities}</td>"
            f'<td class="{verdict.result.split()[0]}">{verdict.result}</td><td>{detail}</td></tr>'
        )
    return "\n".join(rows) + "</table>"


def _pairs(counts: dict[str, Any]) -> str:
    if not counts:
        return "<p>None.</p>"
    rows = (f"<tr><td>{escape(str(name))}</td><td>{escape(str(value))}</td></tr>" for name, value in counts.items())
    return f"<table>{''.join(rows)}</table>"


def _points(who: str, points: dict[str, dict[str, int]]) -> str:
    actions = ("passed", "kill", "stop", "fail")
    head = "".join(f"<th>{action}</th>" for action in ("", *actions))
    rows = "".join(
        f"<tr><td>{escape(where)}</td>"
        + "".join(f"<td class=number>{counts.get(action, 0)}</td>" for action in actions)
        + "</tr>"
        for where, counts in points.items()
    )
    return f"<h3>Of a {escape(who)}</h3><table><tr>{head}</tr>{rows}</table>"


def _recovery(spreads: dict[str, dict[str, float]]) -> str:
    columns = ("times", "p50", "p99", "max", "bound", "beyond", "disturbed", "whole")
    titles = ("", "times", "p50, s", "p99", "longest", "bound", "beyond it", "during outages", "longest of all")
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        + ("".join(f"<td class=number>{values[column]:g}</td>" for column in columns) if values else "<td>no case</td>")
        + "</tr>"
        for name, values in spreads.items()
    )
    return f"<table><tr>{head}</tr>{rows}</table>"


def _command(summary: dict[str, Any]) -> str:
    command = f"python -m torture --store {summary['store']} --profile {summary['profile']} --seed {summary['seed']}"
    if summary["durability"]:
        command += f' --durability "{summary["durability"]}"'
    return command + (f' --mutant "{summary["mutant"]}"' if summary["mutant"] else "")
