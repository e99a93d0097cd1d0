"""Pieces of Lua that several verbs include."""
