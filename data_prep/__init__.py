"""`python -m data_prep STEP …`: from raw text, or from nothing, to one binarized folder that fairseq reads.

Importing this package imports nothing else; `data_prep.formats` is what training and evaluation need of it.
"""
