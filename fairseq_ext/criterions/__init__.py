"""fairseq's interface around losses: thin."""
