"""From checkpoints to hypotheses: search, batches over many directions, the journal of a killed run."""
