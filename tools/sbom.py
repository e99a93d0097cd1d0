"""Write the software bill of materials (CycloneDX) that the wheel contains: `python -m tools.sbom`.

It lists what Holdfast depends on, and the browser libraries that are part of the package, with their versions and the
checksums of their files. A test compares the file with the project.
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
BROWSER_LIBRARIES = {
    "htmx": ("htmx.org", "0BSD", r'version:"([\d.]+)"'),
    "uplot": ("uplot", "MIT", r"\(v([\d.]+)\)"),
}
"""By the beginning of their files: the name in the registry of npm, the licence, and where the version is written."""


def bill() -> str:
    """The document. The same project gives the same text."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in ("dev", "docs")}
    # A requirement of several extras is one component: CycloneDX forbids equal ones.
    optional = sorted({each for needs in extras.values() for each in needs})
    components = [_dependency(each, "required") for each in project["dependencies"]]
    components += [_dependency(each, "optional") for each in optional]
    components += [_vendored(prefix, *known) for prefix, known in BROWSER_LIBRARIES.items()]
    root = f"pkg:pypi/{project['name']}@{project['version']}"
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": project["name"],
                "version": project["version"],
                "purl": root,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": sorted(components, key=lambda each: str(each["name"]).lower()),
        "dependencies": [{"ref": root, "dependsOn": sorted(each["bom-ref"] for each in components)}],
    }
    return json.dumps(document, indent=2) + "\n"


def _dependency(requirement: str, scope: str) -> dict[str, Any]:
    name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
    purl = f"pkg:pypi/{name.lower()}"
    properties = [{"name": "holdfast:requirement", "value": requirement}]
    return {"type": "library", "bom-ref": purl, "name": name, "scope": scope, "purl": purl, "properties": properties}


def _vendored(prefix: str, name: str, licence: str, version: str) -> dict[str, Any]:
    found = re.search(version, (VENDORED / f"{prefix}.min.js").read_text(encoding="utf-8"))
    assert found is not None, f"{prefix}.min.js has no version"
    purl = f"pkg:npm/{name}@{found[1]}"
    files = [path for path in sorted(VENDORED.glob(f"{prefix}.*")) if path.suffix in (".js", ".css")]
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": found[1],
        "scope": "optional",
        "licenses": [{"license": {"id": licence}}],
        "purl": purl,
        "components": [_file(path) for path in files],
    }


def _file(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    name = path.relative_to("src").as_posix()
    return {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}


if __name__ == "__main__":
    FILE.write_text(bill(), encoding="utf-8")
