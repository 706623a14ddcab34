"""What gpu-check does on the machine with a GPU: Python's standard library alone."""
