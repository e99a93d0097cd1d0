"""Every default value, in one place. `docs/decisions/0031-defaults.md` gives the reasons. Times are seconds.

A worker inside an application and a worker process of `[workers]` differ in two values. A worker inside an application
has a lease of 60 s, because other code of the application may block the interpreter for some time. A worker process
has a lease of 30 s, the value of the configuration file, so that the jobs of a killed process run again sooner.
"""

from __future__ import annotations

from datetime import timedelta

# Workers.
CONCURRENCY = 10
POLL_INTERVAL = 60.0
"""Seconds between two polls while wake-ups arrive."""
GRACE = 25.0
LEASE = 60.0
RENEWALS_PER_LEASE = 3
"""Without a `renew_interval`, a lease is renewed this many times: two renewals may fail before it expires."""
POLL_WITHOUT_WAKEUPS = 1.0
"""Seconds between two polls while wake-ups do not arrive."""
JOB_DELAY = 0.0
MISMATCH_TIMEOUT = 3600.0
"""A job fails this many seconds after its first mismatch, if no worker accepts its input."""
WORKER_REFRESH = 30.0
"""Seconds between two reports of a worker to the registry of live workers."""
WORKER_GONE_AFTER = 90.0
"""A worker without a report for this many seconds counts as gone: two reports may fail before that."""

# Worker processes: differences from `Worker`, and their number.
SUPERVISED_LEASE = 30.0
SUPERVISED_POLL_WITHOUT_WAKEUPS = 0.25
DEFAULT_COUNT = 2
MAX_COUNT = 8
SCALE_INTERVAL = 1.0
SCALE_DOWN_AFTER = 15.0

# Retries.
RETRY_INITIAL = 10.0
RETRY_MULTIPLIER = 2.0
RETRY_MAXIMUM = 300.0
RETRY_JITTER = 0.1
MAX_ATTEMPTS = 25

# Job types.
KEEP = timedelta(days=7)

# Named queues.
QUEUE_CONCURRENCY = 1
QUEUE_MAX_RETRIES = 3
QUEUE_RETRY_INITIAL = 0.5
QUEUE_RETRY_MAXIMUM = 30.0
VISIBILITY_TIMEOUT = 30.0
RESULT_TTL = 3600.0
REAPER_LEASE = 30.0
"""The lease of the leading reaper."""
REAPER_INTERVAL = 1.0
