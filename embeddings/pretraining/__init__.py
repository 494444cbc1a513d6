"""Pre-training of small multilingual encoders as masked language models."""
