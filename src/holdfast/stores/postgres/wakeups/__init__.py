"""Wake-ups between processes, by LISTEN and NOTIFY."""
