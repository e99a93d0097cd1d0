"""The statements of the PostgreSQL store, one file each."""
