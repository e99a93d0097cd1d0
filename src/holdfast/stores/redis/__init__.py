"""The Redis store: one script per verb, on Redis from 6.2 and Valkey, alone or in a cluster."""

from holdfast.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
