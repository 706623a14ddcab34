"""Finds the errors and warnings of the package in its sources: ``tools/list_messages.py``."""
