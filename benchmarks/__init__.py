"""How fast Holdfast is beside its peers and beside the same work written by hand, in one run: ``make bench``."""
