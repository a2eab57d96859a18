"""How well the library answers questions whose answers are known."""
