"""What surrounds a model that can't be trained: its instructions, and rules measured in runs of it."""
