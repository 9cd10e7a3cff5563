"""Ports of this machine."""

import contextlib
import socket


def free_port() -> int:
    """Return a port that nothing listens on, so that two runs on one machine do not meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listener(port: int) -> str | None:
    """Return the name and number of the process that listens on a port, None where that can't be known."""
    import psutil

    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and getattr(connection.laddr, "port", None) == port
            if listens and connection.pid:
                return f"{psutil.Process(connection.pid).name()}, process {connection.pid}"
    return None
