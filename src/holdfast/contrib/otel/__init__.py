"""Traces and metrics with OpenTelemetry: `Jobs(plugins=[OpenTelemetry()])`."""

from holdfast.errors import MissingExtra

try:
    from holdfast.contrib.otel.plugin import OpenTelemetry
except ModuleNotFoundError as error:
    raise MissingExtra("holdfast.contrib.otel", "otel") from error

__all__ = ["OpenTelemetry"]
