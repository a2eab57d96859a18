"""Texts into vectors: by a local model, by a provider, or by hashing."""
