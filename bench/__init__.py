"""Speed and quality, measured beside the peers; each module prints a table and writes JSON."""
