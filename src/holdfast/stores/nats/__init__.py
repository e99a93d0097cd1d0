"""Wake-ups of a SQL store through a NATS server."""
