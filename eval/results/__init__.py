"""Result files, and the systems, runs and measures that they are about."""
