"""Time limits in tests. A machine that stops for seconds, as shared ones do, is not the code's fault."""

import time
from collections.abc import Callable


def within(seconds: float, action: Callable[[], object], times: int = 3) -> bool:
    """Whether one of up to so many calls of the action took less than `seconds`."""
    for _ in range(times):
        started = time.monotonic()
        action()
        if time.monotonic() - started < seconds:
            return True
    return False
