"""What a search cost, from the journal of its batches."""

from command_line.journal import Journal


def decoding_cost(journal: Journal) -> dict:
    """What all batches took, those of runs that were killed included.

    `seconds` go from batch to hypotheses; `decoder_tokens` are the tokens for which the decoder was run, of
    all hypotheses of the beam, contrasts, members of an ensemble and both halves of a pivot: the same on any
    machine, and None of an engine that does not count them.
    """
    costs = [entry["cost"] for entry in journal.entries]
    tokens = [cost["decoder_tokens"] for cost in costs]
    return {
        "seconds": round(sum(cost["seconds"] for cost in costs), 2),
        "decoder_tokens": None if None in tokens else sum(tokens),
    }
