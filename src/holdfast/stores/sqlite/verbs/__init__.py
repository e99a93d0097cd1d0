"""One module for each verb. Its statements are in the file of the same name in `sql/`."""
