"""Each contestant of `bench.ingest` as a program of its own, in an interpreter that has it."""
