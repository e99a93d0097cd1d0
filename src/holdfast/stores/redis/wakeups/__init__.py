"""Wake-ups between processes."""
