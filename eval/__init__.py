"""`python -m eval COMMAND`: checkpoints -> translations -> numbers, tables, plots, a report."""
