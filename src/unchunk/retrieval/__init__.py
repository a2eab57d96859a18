"""Evidence out: which chunks answer a question."""
