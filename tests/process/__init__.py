"""Real processes on a real store: killed, frozen, stopped."""
