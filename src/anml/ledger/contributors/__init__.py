"""Contributors: by name, one by one, their track records, and their right to be forgotten."""
