"""Chunks that somebody else keeps, each kind of store in a file of its own."""
