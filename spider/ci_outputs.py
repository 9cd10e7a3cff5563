"""What GitHub Actions is told of a run, for the steps of a workflow that come after it."""

import os
from pathlib import Path

from spider.preset_changes import UsageError
from spider.presets import Preset


def write_ci_outputs(preset: Preset) -> None:
    """Tell GitHub Actions which run of which project this is.

    Raises:
        UsageError: GITHUB_OUTPUT is no file that can be written.
    """
    output = os.environ.get("GITHUB_OUTPUT")
    if not output:
        return
    try:
        with Path(output).open("a", encoding="utf-8") as file:
            file.write(f"project_name={preset.project}\nrun_name={preset.experiment}\n")
    except OSError as error:
        reason = f"GITHUB_OUTPUT is {output!r} ({error.strerror})"
        raise UsageError(f"{reason}: set it to a file that can be written, or unset it") from error
