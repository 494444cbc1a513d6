"""What a batch is made of: binarized text, language tags, sampling, collation."""
