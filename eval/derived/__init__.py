"""What several sections and probes ask of the rows of one kind."""
