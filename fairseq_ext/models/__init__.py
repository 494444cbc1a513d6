"""What is trained to translate: one file per model, named architectures at the bottom of its file."""
