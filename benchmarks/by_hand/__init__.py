"""The same work written by hand: one file per store, and the worker that they share."""
