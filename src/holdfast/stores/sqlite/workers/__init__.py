"""The live workers of a store, in a file of their own."""
