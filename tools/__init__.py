"""Programs for development: run by make, not installed."""
