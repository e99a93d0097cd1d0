"""`manage.py holdfast`."""
