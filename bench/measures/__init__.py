"""The measures of `python -m bench`: each a module with `measure(run) -> list[Table]`."""
