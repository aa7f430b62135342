"""The commands of `python -m tp`."""
