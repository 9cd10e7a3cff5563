"""The data set verl iterates over: the agentlightning tasks, as the algorithm wrote them to a JSON Lines file."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from torch.utils.data import Dataset


def write_tasks(tasks: Iterable[Mapping[str, object]], path: Path) -> int:
    """Write tasks one JSON object a line and return how many there are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(task, ensure_ascii=False) for task in tasks]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


class TaskDataset(Dataset[dict[str, object]]):
    """Tasks of one split, in file order. verl constructs it by name from ``data.custom_cls``.

    Args:
        data_files: The JSON Lines file, or a list with that file alone.
        max_samples: Number of tasks to keep; all when negative.
        **_unused: verl also hands over the tokenizer, the processor and the data configuration; the agent makes its
            own prompts.
    """

    def __init__(self, data_files: str | list[str], max_samples: int = -1, **_unused: object) -> None:
        files = [data_files] if isinstance(data_files, str) else list(data_files)
        # JSON leaves other line ends than \n as they are inside a text.
        texts = [Path(file).read_text(encoding="utf-8") for file in files]
        lines = [line for text in texts for line in text.split("\n") if line]
        self.tasks = [json.loads(line) for line in (lines if max_samples < 0 else lines[:max_samples])]

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)

    def __getitem__(self, index: int) -> dict[str, object]:
        """Return the fields that verl's trainer reads, and the task itself for the agent."""
        task = self.tasks[index]
        return {
            "raw_prompt": [{"role": "user", "content": str(task.get("question", ""))}],
            "task": task,
            "index": index,
            "data_source": "spider",
        }
