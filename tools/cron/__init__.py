"""Compare our cron expressions with the tests of `cronsim` and `croniter`: `python -m tools.cron`."""
