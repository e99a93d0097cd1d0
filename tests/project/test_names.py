"""The list of names in the documentation contains every exported name."""

import re

import holdfast
from tools.names import PAGE, page


def test_the_list_of_names_contains_every_exported_name() -> None:
    """`python -m tools.names` writes the page."""
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(listed) == sorted(holdfast.__all__)
    assert sorted(re.findall(r"^\| `(\w+)` \|", page(), re.MULTILINE)) == sorted(listed)
