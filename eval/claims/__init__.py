"""What trainings say of the claims of a paper: effects over seeds, and verdicts."""
