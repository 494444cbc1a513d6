"""From result files to tables, figures and one HTML file."""
