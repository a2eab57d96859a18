"""Models that answer."""
