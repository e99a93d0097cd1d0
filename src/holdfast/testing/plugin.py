"""The pytest plugin. Pytest loads it wherever Holdfast is installed, so importing it must stay quick."""
