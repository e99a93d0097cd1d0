"""Applies a mutant: changes the source of modules, statements and scripts while they are loaded."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from torture.mutants import MUTANTS, Edit

if TYPE_CHECKING:  # the library must not be imported before a mutant is applied
    from holdfast.engine.store import Store


__all__ = ["MUTANTS", "apply", "changed_migrations", "changed_store"]


def apply(name: str, store: str) -> None:
    """Change the sources that this process will import: those of the store and those shared by all stores."""
    modules: dict[str, list[Edit]] = {}
    statements: dict[str, list[Edit]] = {}
    scripts: dict[str, list[Edit]] = {}
    for edit in MUTANTS[name].edits(store):
        if ":" in edit.where:
            statements.setdefault(edit.where, []).append(edit)
        elif edit.where.endswith(".lua"):
            scripts.setdefault(edit.where, []).append(edit)
        else:
            modules.setdefault(edit.where, []).append(edit)
    if modules:
        sys.meta_path.insert(0, _Finder(modules))
    if statements:
        _change_statements(statements)
    if scripts:
        _change_scripts(scripts)


def changed_store(store: Store, name: str | None) -> Store:
    """Apply the parts of a mutant that change the store object."""
    if name is not None and MUTANTS[name].workers_clock:
        from holdfast.core.clock import system_clock

        store.clock = system_clock
    return store


@contextmanager
def changed_migrations(name: str | None, store: str) -> Generator[None]:
    """Apply the edits of migrations while the process that prepares the run creates the schema."""
    wanted = MUTANTS[name].edits(store) if name is not None else ()
    edits = [edit for edit in wanted if ".migrations:" in edit.where]
    if not edits:
        yield
        return
    from holdfast.stores.postgres import migration
    from holdfast.stores.sql import files

    original = files.read

    def read(package: str) -> dict[str, str]:
        texts = original(package)
        for edit in edits:
            edited, file = edit.where.split(":")
            if edited == package:
                texts[file] = _replaced(texts[file], edit)
        return texts

    modules: tuple[Any, ...] = (files, migration)
    for module in modules:
        module.read = read
    try:
        yield
    finally:
        for module in modules:
            module.read = original


def _replaced(text: str, edit: Edit) -> str:
    if edit.old not in text:
        raise LookupError(f"{edit.where} does not contain {edit.old!r} any more: update the mutant")
    return text.replace(edit.old, edit.new)


class _Finder:
    """An import finder for the modules to change. Their loader compiles the changed source."""

    def __init__(self, edits: dict[str, list[Edit]]) -> None:
        self._edits = edits

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._edits:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self._edits[name])
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, edits: list[Edit]) -> None:
        super().__init__(name, path)
        self._edits = edits

    def get_code(self, fullname: str) -> CodeType:
        text = self.get_source(fullname) or ""
        for edit in self._edits:
            text = _replaced(text, edit)
        return compile(text, self.path, "exec")


def _change_statements(edits: dict[str, list[Edit]]) -> None:
    from holdfast.stores.sql import files

    original = files.statements

    def statements(package: str) -> dict[str, str]:
        texts = original(package)
        for where, each in edits.items():
            edited, name = where.split(":")
            if edited == package:
                for edit in each:
                    texts[name] = _replaced(texts[name], edit)
        return texts

    files.statements = statements


def _change_scripts(edits: dict[str, list[Edit]]) -> None:
    from holdfast.stores.redis import script_loader

    plain: Any = getattr(script_loader, "_read")  # noqa: B009 - private on purpose

    def read(path: str) -> str:
        text: str = plain(path)
        for edit in edits.get(path, []):
            text = _replaced(text, edit)
        return text

    changed: Any = script_loader
    changed._read = read
