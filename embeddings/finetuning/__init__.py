"""Fine-tuning of multilingual encoders for a task in some languages, to be tested in others."""
