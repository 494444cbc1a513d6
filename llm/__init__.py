"""Teaching large language models to translate languages that they have not seen (thesis, chapter 6).

Instructions are made from bitext and its word alignments, a model of `transformers` is tuned on them by
`peft`, and what it translates is scored in the same tables as translation models.
"""
