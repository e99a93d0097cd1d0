"""The common parts of the SQL stores: plans of statements, and operations in the application's transaction."""
