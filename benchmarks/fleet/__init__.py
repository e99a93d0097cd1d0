"""A simulation of a fleet: the code of real workers and clients, a virtual clock, and measured costs of a store."""
