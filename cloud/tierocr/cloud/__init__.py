"""The cloud part: the refinement service and the model forge."""
