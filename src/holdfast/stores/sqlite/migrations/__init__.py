"""The steps that bring a file's schema up to date, by name. A step that was released never changes."""
