"""The classes of `holdfast.errors`, which is the module to import them from."""
