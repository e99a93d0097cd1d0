"""Jobs, their states and the decisions about them. Pure: no clock, no I/O."""
