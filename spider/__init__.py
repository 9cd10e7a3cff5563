"""A SQL agent for Spider, trained with GRPO through agentlightning and verl."""
