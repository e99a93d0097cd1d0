"""The Lua sources: one file per verb, and the pieces they share."""
