"""The statements of the SQLite store, one file for each verb.

They use neither `returning` nor `update from`: older SQLite libraries lack both.
"""
