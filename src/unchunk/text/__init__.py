"""Pure functions over text: no I/O, no settings, no logging."""
