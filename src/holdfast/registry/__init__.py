"""Job types: declared once, with their signatures and options."""
