"""Worker processes that come and go with the backlog."""
