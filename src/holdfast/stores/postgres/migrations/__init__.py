"""The numbered migrations of the schema. A migration that was released never changes."""
