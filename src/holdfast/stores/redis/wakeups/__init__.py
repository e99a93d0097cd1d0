"""Wake-ups between processes by pub/sub."""
