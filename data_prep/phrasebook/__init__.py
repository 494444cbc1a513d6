"""The embedded corpus: lines that mean the same in 25 languages, made from CLDR and spelled-out numbers.

`structures` decides what a line means, `rendering` says it in one language, the files in `phrases` hold the
phrases that introduce a value, `step` writes the corpus.
"""
