"""The steps that build the tables, run by Alembic when a database is opened.

A new one stands in `versions/`, names the one before it, and becomes `schema.HEAD`.
"""
