"""The error that ends the benchmark with one line for the user."""


class BenchError(Exception):
    """Complete text: what went wrong, where, what to do."""
