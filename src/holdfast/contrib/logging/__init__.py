"""Standard logging: the current job in each log record, and the log records of a handler in its job's report."""

from holdfast.contrib.logging.job_filter import JobFilter
from holdfast.contrib.logging.store_logs import StoreLogs

__all__ = ["JobFilter", "StoreLogs"]
