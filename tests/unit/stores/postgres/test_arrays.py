"""Array literals contain exactly the values of the list."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.stores.postgres.connection.arrays import literal


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "{}"),
        (["a", "b"], '{"a","b"}'),
        (["", "NULL", "a,b", "{}"], '{"","NULL","a,b","{}"}'),
        (['say "hi"', "back\\slash"], '{"say \\"hi\\"","back\\\\slash"}'),
        (["a", None], '{"a",NULL}'),
        ([None, "a"], '{NULL,"a"}'),
        ([b"", b"\x00\xff"], '{"\\\\x","\\\\x00ff"}'),
        ([b"a", None], '{"\\\\x61",NULL}'),
        ([1, None, -2], "{1,NULL,-2}"),
        ([True, False], "{True,False}"),
        ([True, None], "{True,NULL}"),
        ([None, None], "{NULL,NULL}"),
    ],
)
def test_a_list_becomes_a_literal(values: list[Any], text: str) -> None:
    assert literal(values) == text
