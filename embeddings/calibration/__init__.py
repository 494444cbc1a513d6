"""Fine-tuning of sentence encoders on English alone, before they are compared by retrieval."""
