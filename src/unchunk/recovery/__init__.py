"""Other people's chunk stores back into files."""
