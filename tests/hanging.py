"""When a test gives up on a process: no machine is so loaded that what ends takes longer."""

SECONDS = 1800
