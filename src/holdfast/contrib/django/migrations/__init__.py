"""Django's migrations: one for each SQL migration of the stores, with its name."""
