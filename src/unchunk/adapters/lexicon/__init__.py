"""Texts into terms for lexical search."""
