"""The command of Holdfast in `manage.py`."""
