"""The audit on Redis adds a variable to every script. A Lua function may use sixty variables from outside."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.stores.redis import script_loader
from holdfast.stores.redis.verbs.plans import HELPER_SCRIPTS, VERBS
from tests.servers.redis import shared_redis
from torture import lua_audit


@pytest.mark.redis
def test_every_script_compiles_with_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    loader: Any = script_loader
    monkeypatch.setattr(loader, "_read", loader._read)  # restored at the end: the audit replaces it
    build = loader.script.__wrapped__  # the cache belongs to the scripts without audit
    lua_audit.install()

    with shared_redis().connect() as client:
        for verb in (*VERBS, *HELPER_SCRIPTS):
            audited = build(verb, script_flags=False)

            assert ":changes" in audited.source
            assert client.script_load(audited.source) == audited.sha
