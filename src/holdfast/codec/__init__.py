"""Values as JSON text and back, checked against annotations."""
