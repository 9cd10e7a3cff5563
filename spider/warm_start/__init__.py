"""Supervised warm start of a small model in the agent's own prompts; run by `scripts/warm_start.py`."""
