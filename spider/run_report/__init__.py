"""What a training run did, from its own logs, as one HTML page and pictures."""
