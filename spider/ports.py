"""Ports of this machine."""

import socket


def free_port() -> int:
    """Return a port that nothing listens on, so that two runs on one machine do not meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
