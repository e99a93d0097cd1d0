"""The statements of the SQLite store, one per file. No `returning` and no `update from`: older libraries lack both."""
