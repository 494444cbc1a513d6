"""Searching among vectors: nearest neighbours, margins, retrieval, mining. The commands are above."""
