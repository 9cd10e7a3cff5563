"""A SQL agent for Spider, trained with GRPO through agentlightning and verl."""

import sys

if sys.hexversion < 0x030B0000:  # told here, before the modules that an older Python can't import
    sys.exit(
        f"error: Python {sys.version.split()[0]} is older than 3.11: set .venv up with `bash scripts/setup.sh`, then "
        "run this with .venv/bin/python"
    )
