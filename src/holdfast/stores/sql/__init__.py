"""What the SQL stores share: verbs as plans of statements, and the ways to run a plan."""
