"""verl's loader, saved and loaded again, goes on with the questions that an unbroken run would have asked."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from torchdata.stateful_dataloader import StatefulDataLoader
from verl.trainer.ppo.utils import create_rl_sampler
from verl.utils.dataset.rl_dataset import collate_fn

from spider.verl_bridge.task_dataset import TaskDataset, write_tasks
from spider.verl_bridge.verl_config import resolve_config

QUESTIONS, BATCH_SIZE = 7, 2
STEPS_PER_EPOCH = QUESTIONS // BATCH_SIZE


def loader(path: Path) -> StatefulDataLoader:
    """The training questions' loader, as verl's trainer makes it."""
    actor = {"actor": {"ppo_mini_batch_size": BATCH_SIZE}}
    data = {"seed": 42, "train_batch_size": BATCH_SIZE}
    config = resolve_config({"actor_rollout_ref": actor, "data": data}).data
    dataset = TaskDataset(str(path))
    sampler = create_rl_sampler(config, dataset)
    return StatefulDataLoader(
        dataset, batch_size=BATCH_SIZE, num_workers=0, drop_last=True, collate_fn=collate_fn, sampler=sampler
    )


def batches(source: StatefulDataLoader) -> Iterator[list[int]]:
    """Batches without end, fetched as verl's trainer does: a new iterator when the old one is used up."""
    iterator = iter(source)
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            iterator = iter(source)
            batch = next(iterator)
        yield [int(index) for index in batch["index"]]


@pytest.mark.parametrize("step", [1, STEPS_PER_EPOCH, STEPS_PER_EPOCH + 1, 2 * STEPS_PER_EPOCH])
def test_order_goes_on_where_the_checkpoint_was_made(tmp_path: Path, step: int) -> None:
    path = tmp_path / "train.jsonl"
    write_tasks(({"question": str(i)} for i in range(QUESTIONS)), path)
    unbroken = list(itertools.islice(batches(loader(path)), 4 * STEPS_PER_EPOCH))
    killed = loader(path)
    list(itertools.islice(batches(killed), step))
    resumed = loader(path)
    resumed.load_state_dict(killed.state_dict())
    assert list(itertools.islice(batches(resumed), 4 * STEPS_PER_EPOCH - step)) == unbroken[step:]


def test_line_ends_inside_a_question_are_no_line_ends_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    tasks = [{"question": "one\u2028two"}, {"question": "three"}]
    write_tasks(iter(tasks), path)
    assert TaskDataset(str(path)).tasks == tasks
