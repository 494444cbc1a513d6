"""Trained encoders in the formats of other libraries: stock modules, equal vectors, no code of ours."""
