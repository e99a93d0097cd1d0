"""Plugins for other libraries. Each module needs the extra of its name; `import holdfast` imports none of them."""
