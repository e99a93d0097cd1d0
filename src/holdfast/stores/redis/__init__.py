"""The Redis store: one script per verb, on Redis from 6.2 and Valkey: one server, a cluster, or with Sentinel."""

from holdfast.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
