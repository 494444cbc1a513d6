"""What a language model is asked, and what it should answer: the axis "instruction" of a system."""
