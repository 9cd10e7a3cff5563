"""Write training rows into verl's TransferQueue, in the fields and tags that verl's own agent loop writes.

The contract is ``verl/trainer/ppo/v1/agent_loop_tq.py`` of verl 0.9.1: a row's key is ``{uid}_{session}_{index}``, the
group's key is ``{uid}``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import transfer_queue as tq
from tensordict import NonTensorData, TensorDict
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from spider.verl_bridge.rows import SessionResult

Partition = Literal["train", "val"]


@dataclass(frozen=True)
class Prompt:
    """One question of a step: verl's uid (the GRPO group) and the fields of its data set row."""

    uid: str
    fields: dict[str, object]
    global_step: int


def unpack(batch: TensorDict) -> list[Prompt]:
    """Take the batch that verl's trainer hands to an agent-loop manager apart into its prompts."""
    shared = ("global_steps", "validate")
    step = plain(batch["global_steps"])
    rows = [{key: plain(column[i]) for key, column in batch.items() if key not in shared} for i in range(len(batch))]
    return [Prompt(str(row["uid"]), row, int(str(step))) for row in rows]


def plain(value: object) -> object:
    """Return what a tensordict wraps, or the value itself."""
    return value.data if isinstance(value, NonTensorData) else value


def put_group_status(uids: Sequence[str], partition: Partition, status: str) -> None:
    """Tell verl's replay buffer how far these groups are: ``running``, ``finished`` or ``failure``."""
    tq.kv_batch_put(keys=list(uids), partition_id=partition, tags=[{"status": status} for _ in uids])


def put_group_rows(prompt: Prompt, sessions: Sequence[SessionResult], partition: Partition, version: int) -> None:
    """Put all rows of one group.

    Args:
        prompt: The group's prompt.
        sessions: The group's rollouts; the position is the session's number.
        partition: verl's partition.
        version: Step of the weights that generated the rows.
    """
    keys: list[str] = []
    fields: list[dict[str, object]] = []
    tags: list[dict[str, object]] = []
    for number, session in enumerate(sessions):
        for index in range(len(session.rows)):
            keys.append(f"{prompt.uid}_{number}_{index}")
            fields.append(_fields(prompt, session, number, index, version))
            tags.append(_tags(prompt, session, index, version))
    if keys:
        tq.kv_batch_put(keys=keys, fields=list_of_dict_to_tensordict(fields), tags=tags, partition_id=partition)


def _fields(prompt: Prompt, session: SessionResult, number: int, index: int, version: int) -> dict[str, object]:
    row = session.rows[index]
    reward = session.reward or 0.0
    by_call = row.reward is not None
    output = AgentLoopOutput(
        prompt_ids=row.prompt_ids,
        response_ids=row.response_ids,
        response_mask=[1] * len(row.response_ids),
        response_logprobs=row.log_probs,
        reward_score=row.reward if by_call else reward,
        num_turns=session.calls,
        metrics=AgentLoopMetrics(),
        extra_fields={
            "min_global_steps": version,
            "max_global_steps": version,
            "reward_extra_info": {"acc": reward},
        },
    )
    # What calls earned themselves is compared with other calls of the same node.
    group = f"{prompt.uid}/{row.node}" if by_call else prompt.uid
    fields: dict[str, object] = {**output.as_dict(), **prompt.fields, "uid": group, "session_id": number}
    input_ids = torch.tensor(row.prompt_ids + row.response_ids, dtype=torch.int64)
    fields["loss_mask"] = fields["response_mask"]
    fields["input_ids"] = input_ids
    fields["position_ids"] = torch.arange(len(input_ids), dtype=torch.int64)
    fields["multi_modal_inputs"] = {}
    return fields


def _tags(prompt: Prompt, session: SessionResult, index: int, version: int) -> dict[str, object]:
    row = session.rows[index]
    prompt_length, response_length = len(row.prompt_ids), len(row.response_ids)
    return {
        "status": "success",
        "prompt_len": prompt_length,
        "response_len": response_length,
        "seq_len": prompt_length + response_length,
        "global_steps": prompt.global_step,
        "min_global_steps": version,
        "max_global_steps": version,
    }
