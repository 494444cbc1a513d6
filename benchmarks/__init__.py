"""`python -m benchmarks.NAME`: what our own steps cost, beside those of others. Run in the repository."""
