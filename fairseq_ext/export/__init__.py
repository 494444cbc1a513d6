"""Trained models in the formats of other libraries: stock modules, equal results, no code of ours."""
