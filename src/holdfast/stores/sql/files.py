"""Statements kept as source files: `<verb>[_<part>].sql`, the first line `-- <name>: one sentence`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources


class Statements(Mapping[str, str]):
    """The statements of one package, by file name without `.sql`, their comments left out.

    Read once; a name that has no file is a KeyError at import, not in production.
    """

    def __init__(self, package: str) -> None:
        self._texts = {name: _without_comments(text) for name, text in read(package).items()}

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def read(package: str) -> dict[str, str]:
    """The `.sql` files of a package, whole, by name and in the order of their names."""
    files = [file for file in resources.files(package).iterdir() if file.name.endswith(".sql")]
    return {file.name.removesuffix(".sql"): file.read_text("utf-8") for file in sorted(files, key=lambda f: f.name)}


def _without_comments(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("--")]
    # One statement per file: drivers refuse or misread a trailing semicolon in some places.
    return " ".join(line for line in lines if line).removesuffix(";")
