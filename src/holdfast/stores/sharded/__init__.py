"""Several stores as one: each chain lies on one of them, its shard."""
