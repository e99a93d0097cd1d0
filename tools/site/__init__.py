"""The documentation site: `python -m tools.site` builds it in build/site."""
