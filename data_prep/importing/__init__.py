"""Text in other people's formats and under other names: one small reader per format."""
