"""A ledger and what staff do in it: keys, steps for two people, imports, verification."""
