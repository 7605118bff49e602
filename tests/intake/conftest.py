"""Lets tests in folders below find the small tables that are shared here (intake_tables.py)."""
