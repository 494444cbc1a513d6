"""Sections of the report about scores and comparisons; those of probes are in the files of the probes."""
