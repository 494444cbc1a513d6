"""What every command of the project shares: dispatch, errors, streams of lines, complete outputs, progress.

Nothing here knows about translation, and nothing here imports a heavy library, so that `--help` stays
instant.
"""
