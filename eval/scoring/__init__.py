"""From hypotheses to numbers: metrics, languages of the output, and the significance of differences."""
