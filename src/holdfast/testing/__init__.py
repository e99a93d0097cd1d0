"""What a test of an application, or of a store, needs."""
