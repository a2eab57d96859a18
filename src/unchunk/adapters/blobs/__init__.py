"""Where the original files are kept."""
