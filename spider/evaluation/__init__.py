"""Measuring a model: questions answered by the agent, judged, counted, compared and shown."""
