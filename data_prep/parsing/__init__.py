"""Syntactic structure for linguistically-driven pre-training (thesis chapter 4): bunsetsu and head-marked
phrases.

Every parser's output becomes one of two things over the words of the tokenized text: the boundaries of the
bunsetsu, or a binary tree of phrases (`trees.Tree`). Both go, with the reordering that BRSS and HFSS need,
into one compact file (`formats.structures`).
"""
