"""The numbered migrations of the schema."""
