"""Each contestant as a player of `bench.turns`, in an interpreter that has it."""
