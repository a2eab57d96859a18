"""Local models: how their files are had, and where they are kept."""
