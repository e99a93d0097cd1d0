"""Background jobs that are not lost."""
