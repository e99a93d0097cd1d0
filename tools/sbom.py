"""Write the software bill of materials (CycloneDX) that the wheel contains: `python -m tools.sbom`.

It lists what Holdfast depends on, and the browser files that are part of the package, with their checksums. A test
compares the file with the project.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

FILE = Path("sbom.cdx.json")
VENDORED = Path("src/holdfast/dashboard/static/vendor")


def bill() -> str:
    """The document. The same project gives the same text."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in ("dev", "docs")}
    components = [_dependency(each, "required") for each in project["dependencies"]]
    components += [_dependency(each, "optional") for needs in extras.values() for each in needs]
    components += [_vendored(path) for path in sorted(VENDORED.glob("*.*")) if path.suffix in (".js", ".css")]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": project["name"],
                "version": project["version"],
                "purl": f"pkg:pypi/{project['name']}@{project['version']}",
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": sorted(components, key=lambda each: (each["type"], each["name"])),
    }
    return json.dumps(document, indent=2) + "\n"


def _dependency(requirement: str, scope: str) -> dict[str, Any]:
    name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
    purl = f"pkg:pypi/{name.lower()}"
    properties = [{"name": "holdfast:requirement", "value": requirement}]
    return {"type": "library", "name": name, "scope": scope, "purl": purl, "properties": properties}


def _vendored(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"type": "file", "name": f"holdfast/dashboard/static/vendor/{path.name}", "scope": "optional",
            "hashes": [{"alg": "SHA-256", "content": digest}]}  # fmt: skip


if __name__ == "__main__":
    FILE.write_text(bill(), encoding="utf-8")
