"""Rows that are computed from those of several runs, and what several rooms ask of the rows of one kind."""
