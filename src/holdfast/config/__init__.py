"""`holdfast.toml`: the store, the workers, retry policies, work kinds and logging. Unknown keys are errors."""

from holdfast.config.config_error import ConfigError
from holdfast.config.file import read_settings
from holdfast.config.settings import CATALOGUE, FILE, FileSettings

__all__ = ["CATALOGUE", "FILE", "ConfigError", "FileSettings", "read_settings"]
