"""The diagrams of the guides: `make diagrams` draws docs/diagrams/*.toml as SVG, each in light and dark."""
