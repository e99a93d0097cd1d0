"""How fast Holdfast is beside the same work written by hand, in one run: ``make bench``."""
