"""From verl's checkpoint of a run to a model folder that anything can load."""
