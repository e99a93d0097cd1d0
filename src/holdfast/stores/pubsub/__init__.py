"""Wake-ups through a publish and subscribe server. Redis and NATS each provide a channel."""
