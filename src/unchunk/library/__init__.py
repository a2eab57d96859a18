"""Documents in, and everything that happens to them until they are gone."""
