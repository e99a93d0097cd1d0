"""The committed pictures are those that `make diagrams` draws."""

from __future__ import annotations

import pytest

from tools.diagrams.__main__ import FOLDER, pictures

DRAWN = pictures()


def test_the_pictures_have_a_light_and_a_dark_form() -> None:
    stems = {path.stem.rpartition("-")[0] for path in FOLDER.glob("*.svg")}

    assert stems == {path.stem for path in FOLDER.glob("*.toml")}
    assert len(DRAWN) == 2 * len(stems) > 0


@pytest.mark.parametrize("name", sorted(path.name for path in DRAWN))
def test_a_picture_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == DRAWN[FOLDER / name], "run `make diagrams`"
