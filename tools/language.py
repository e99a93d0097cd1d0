"""Find words that make a sentence hard to understand: `python -m tools.language [PATH ...]`.

Identifiers are split at underscores and capitals, so that a name is checked like prose. Lines that must contain one of
the words (a quoted API, a text in a test) end with `# wording: REASON`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PREFERRED = {
    "whoever": "name the component",
    "nobody": "name the component: no worker, no caller, no listener",
    "lest": "so that ... not",
    "farewell": "close, Terminate",
    "stranger": "another process, another session",
    "mouth": "publisher",
    "ear": "subscriber",
    "heed": "use, follow",
    "thereof": "of it",
    "tell": "report, notify, send, say which",
    "told": "reported, notified, sent",
    "hear": "receive",
    "heard": "received",
    "word": "term, name, text, message",
    "as ever": "as before",
    "empty hands": "without locks",
    "of no more use": "no longer usable",
    "mourn": "log",
    "everybody": "every worker, every caller, all contenders",
    "somebody": "name the component: another process, a caller, a person",
    "anybody": "name the component: any role, any process",
    "for ever": "forever, without end, no limit",
    "the begin": "the beginning, the start",
    "at the begin": "at the beginning, at the start",
    "so many at": "this many at",
    "are so many": "are this many",
    "most so many": "most this many",
    "up to so many": "up to this many",
    "this very": "this",
    "anew": "again",
    "afresh": "again, new",
    "turned down": "rejected",
    "come and go": "start and stop",
    "comes and goes": "varies",
    "modesty": "pause",
    "doomed": "to be deleted",
    "patience": "timeout, time limit",
}
CHECKED = {".py", ".md", ".sql", ".lua", ".toml", ".yml", ".html", ".css", ".js", ""}
LEFT_OUT = re.compile(r"^(tools/language\.py|LICENSE|.*\.(json|svg)|.*/vendor/.*|benchmarks/results.*)$")
EXCUSED = re.compile(r"(#|--|//|<!--) wording: \S")

_forms = "|".join(sorted((re.escape(each) + r"(?:s|ing|en)?" for each in PREFERRED), key=len, reverse=True))
FOUND = re.compile(rf"(?<![a-z])({_forms})(?![a-z])", re.IGNORECASE)
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def main() -> int:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *sys.argv[1:]]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [line for name in names for line in problems(name)]
    for line in found:
        print(line)
    return 1 if found else 0


def problems(name: str) -> list[str]:
    """A line `file:line: word: write ... instead` for each excluded word of a file, and for one in its name."""
    if LEFT_OUT.match(name) or Path(name).suffix not in CHECKED or not Path(name).is_file():
        return []
    found = [f"{name}: the file name has {problem}" for problem in in_text(name.replace("/", " "))]
    for number, line in enumerate(Path(name).read_text(encoding="utf-8").splitlines(), 1):
        if not EXCUSED.search(line):
            found += [f"{name}:{number}: {problem}" for problem in in_text(line)]
    return found


def in_text(text: str) -> list[str]:
    spaced = CAPITAL.sub(" ", text.replace("_", " "))
    return [f'"{match[1]}": write {_preferred(match[1])}' for match in FOUND.finditer(spaced)]


def _preferred(found: str) -> str:
    return next(advice for stem, advice in PREFERRED.items() if found.lower().startswith(stem))


if __name__ == "__main__":
    sys.exit(main())
