"""SQL statements kept as source files, one file for each verb.

A file holds one or more statements. Each statement begins with a line `-- name: one sentence`. That line is the first
line of the file, or it follows a blank line. A first block without SQL describes the verb. For example, `reap.sql`:

    -- reap: return jobs with an expired lease.

    -- reap_expired: running jobs of a type whose lease has expired, oldest first.
    select ...

    -- reap_pending: a reaped job may be claimed again at once.
    update ...

A name in braces stands for a list of names that Python code gives, such as `returning {record}`. With a pattern, each
name replaces the stars of the pattern: `set {options: * = :*}` is `set timeout = :timeout, keep = :keep`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable

_NAME = re.compile(r"(?:\A|(?<=\n\n))-- ([a-z_0-9]+): ")
_LIST = re.compile(r"\{([a-z_]+)(?:: ([^{}]+))?\}")


class Statements(Mapping[str, str]):
    """The statements of one package by name, without their comments. `lists` has the lists of names in braces.

    The files are read once, at import. A module that looks up an unknown name therefore fails at import, and so does a
    statement with an unknown list.
    """

    def __init__(self, package: str, **lists: Iterable[str]) -> None:
        def written(found: re.Match[str]) -> str:
            pattern: str = found[2] or "*"
            return ", ".join(pattern.replace("*", name) for name in lists[found[1]])

        self._texts = {name: _LIST.sub(written, _without_comments(text)) for name, text in statements(package).items()}

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def read(package: str) -> dict[str, str]:
    """The `.sql` files of a package: file name without suffix, and the whole text. Sorted by name.

    A directory of `.sql` files counts as one file: a large migration has a file for each topic.
    """
    found: dict[str, str] = {}
    for entry in sorted(resources.files(package).iterdir(), key=lambda each: each.name):
        if entry.name.endswith(".sql"):
            found[entry.name.removesuffix(".sql")] = entry.read_text("utf-8")
        elif entry.is_dir() and (texts := _texts(entry)):
            found[entry.name] = "\n".join(texts)
    return found


def statements(package: str) -> dict[str, str]:
    """The statements of a package by name, with their comments. A name that occurs twice is a ValueError."""
    found: dict[str, str] = {}
    for file, text in read(package).items():
        for name, statement in split(text):
            if name in found:
                raise ValueError(f"{package}: {file}.sql defines the statement {name!r} a second time")
            found[name] = statement
    return found


def split(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of each statement in a file. A block without SQL is a description and is left out."""
    starts = [(match[1], match.start()) for match in _NAME.finditer(text)]
    if not starts or text[: starts[0][1]]:
        raise ValueError(f"the file does not begin with `-- name: sentence`: {text[:60]!r}")
    ends = [start for _, start in starts[1:]] + [len(text)]
    for (name, start), end in zip(starts, ends, strict=True):
        if _without_comments(text[start:end]):
            yield name, text[start:end]


def _texts(directory: Traversable) -> list[str]:
    files = [file for file in directory.iterdir() if file.name.endswith(".sql")]
    return [file.read_text("utf-8") for file in sorted(files, key=lambda each: each.name)]


def _without_comments(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("--")]
    # Some drivers reject or misread a trailing semicolon.
    return " ".join(line for line in lines if line).removesuffix(";")
