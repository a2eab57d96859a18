"""Where traces go."""
