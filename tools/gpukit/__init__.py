"""What tools/gpu-kit does: builds, models with the numbers of a processor, the archive."""
