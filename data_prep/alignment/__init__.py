"""Word alignment of bitext (thesis 5.1.1): the parts of `python -m data_prep align` and `alignment-error`."""
