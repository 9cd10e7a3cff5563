"""verl's FSDP engine with logits where the loss reads them: at the responses, not at the prompts.

Of a row of 700 prompt and 128 response tokens, the stock engine computes 828 times a whole vocabulary of logits to use
128 of them. Without flash-attn it also takes their log-probabilities row by row in Python, which is most of an update.
Both cost nothing here. Use it by importing this module in verl's workers; it brings the attention with it::

    actor_rollout_ref.model.external_lib=spider.verl_bridge.packed_engine
    actor_rollout_ref.model.override_config.attn_implementation=varlen

With ``varlen_shared`` a prompt is computed once for all of its responses (`spider.verl_bridge.shared_prompts`), in
micro-batches that keep rows with one prompt together.

verl prefers an engine that is registered for a vendor's devices, so its own stays what it is. Rows that are not packed
(``use_remove_padding=False``), fused kernels, distillation and Ulysses sequence parallelism go verl's own way.
"""

from typing import TYPE_CHECKING, Any, cast

import torch
from torch.distributed.fsdp import CPUOffloadPolicy
from verl.utils import tensordict_utils
from verl.utils.device import get_device_id
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import FSDPEngineWithLMHead, transformer_impl
from verl.workers.engine.utils import postprocess_batch_func

from spider.verl_bridge import shared_prompts, varlen_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensordict import TensorDict
    from transformers.utils.generic import ModelOutput

StockEngine: Any = FSDPEngineWithLMHead  # verl's registry hides the class's own type
STOCK_ONLY = ("use_fused_kernels", "calculate_sum_pi_squared", "distillation_use_topk", "distillation_only")
"""Requests of a batch that this engine leaves to verl's own."""


def response_positions(lengths: torch.Tensor, response_lengths: torch.Tensor) -> torch.Tensor:
    """Return where, in rows laid end to end, the tokens stand that predict a response's tokens.

    Args:
        lengths: Tokens of each row, prompt and response; shape (rows,).
        response_lengths: Tokens of each response; shape (rows,).

    Returns:
        Positions in the pack, ascending; as many as there are response tokens.
    """
    total = int(lengths.sum())
    ends = torch.repeat_interleave(lengths.cumsum(0), lengths, output_size=total)
    left = ends - torch.arange(total, device=lengths.device)  # tokens to the row's end, this one with them
    responses = torch.repeat_interleave(response_lengths, lengths, output_size=total)
    return ((left > 1) & (left <= responses + 1)).nonzero().squeeze(1)


def log_probs_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each label in float32, of shape (tokens,), from logits of (tokens, vocabulary)."""
    return torch.log_softmax(logits, dim=-1, dtype=torch.float32).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


class PackedEngine(StockEngine):
    """verl's FSDP engine for causal language models, with logits at the responses alone."""

    def forward_backward_batch(
        self, data: "TensorDict", loss_function: "Callable[..., Any]", forward_only: bool = False
    ) -> dict[str, Any]:
        """As verl's; where prompts are shared, in micro-batches that keep rows with one prompt together."""
        dynamic = tensordict_utils.get_non_tensor_data(data=data, key="use_dynamic_bsz", default=True)
        if not (dynamic and self._takes(data) and self._shares_prompts()):
            return super().forward_backward_batch(data, loss_function, forward_only)
        group = self.get_data_parallel_group()
        plan = shared_prompts.plan_batch(data, group)
        tokens = data["loss_mask"].sum().to(get_device_id())
        torch.distributed.all_reduce(tokens, group=group)  # what the losses are normalised by
        settings = {"sp_size": 1, "batch_num_tokens": tokens.item(), "dp_size": self.get_data_parallel_size()}
        tensordict_utils.assign_non_tensor(data, **settings)
        keeps = forward_only or tensordict_utils.get_non_tensor_data(data, key="return_model_output", default=False)
        results: list[dict[str, Any]] = []
        for micro_batch in shared_prompts.take_rows(data, plan):
            last = len(results) == len(plan) - 1
            with torch.no_grad() if forward_only else self._gradient_sync_context(is_last_micro_batch=last):
                loss, result = self.forward_step(micro_batch, loss_function=loss_function, forward_only=forward_only)
                if not forward_only:
                    (loss if self.scaler is None else self.scaler.scale(loss)).backward()
            if not keeps:
                del result["model_output"]
            results.append(result)
        return postprocess_batch_func(output_lst=results, indices=plan, data=data)

    def prepare_model_inputs(self, micro_batch: "TensorDict") -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask the model for logits at the positions that predict response tokens, besides what verl asks."""
        model_inputs, output_args = super().prepare_model_inputs(micro_batch)
        if self._takes(micro_batch):
            rows, responses = cast("Any", micro_batch["input_ids"]), cast("Any", micro_batch["responses"])
            positions = response_positions(rows.offsets().diff(), responses.offsets().diff())
            model_inputs["logits_to_keep"] = output_args["positions"] = positions
            if self._shares_prompts() and model_inputs["position_ids"].dim() == 2 and "cu_seqlens" not in model_inputs:
                # Which logits are asked for, and their order, stay as they are.
                layout = shared_prompts.lay_out(*shared_prompts.prompts_and_responses(micro_batch))
                model_inputs |= {"input_ids": layout.input_ids[None], "position_ids": layout.position_ids[None]}
                model_inputs["logits_to_keep"] = layout.predicting
        return model_inputs, output_args

    def prepare_model_outputs(
        self,
        output: "ModelOutput",
        output_args: dict[str, Any],
        micro_batch: "TensorDict",
        logits_processor_func: "Callable[..., Any] | None",
    ) -> dict[str, torch.Tensor]:
        """Return log-probabilities (and entropy, if asked for) as verl does: a value a token, 0 where none is read."""
        positions = output_args.get("positions")
        if positions is None:
            return super().prepare_model_outputs(output, output_args, micro_batch, logits_processor_func)
        logits = output["logits"].squeeze(0)
        if not output_args["temperature_is_one"]:
            temperature = output_args["temperature_rmpad"][positions].clamp(min=1e-8)
            logits = logits / temperature.unsqueeze(-1).to(logits.dtype)
        values = {"log_probs": log_probs_of(logits, output_args["input_ids_rmpad_rolled"][positions])}
        if tensordict_utils.get_non_tensor_data(data=micro_batch, key="calculate_entropy", default=False):
            values["entropy"] = self.compute_entropy_from_logits(logits)
        rows = cast("Any", micro_batch["input_ids"])
        total = rows.values().shape[0]
        return {
            name: torch.nested.nested_tensor_from_jagged(
                value.new_zeros(total).index_put((positions,), value), offsets=rows.offsets()
            )
            for name, value in values.items()
        }

    def _shares_prompts(self) -> bool:
        """Whether all layers see everything before a token, so that a response sees the prompt wherever it lies."""
        config = self.module.config
        text = config.get_text_config()
        window = getattr(text, "sliding_window", None)
        full = set(text.layer_types) <= {"full_attention"} if getattr(text, "layer_types", None) else window is None
        return full and config._attn_implementation == varlen_attention.SHARED and not self.pad_to_length

    def _takes(self, micro_batch: "TensorDict") -> bool:
        asked = [tensordict_utils.get_non_tensor_data(data=micro_batch, key=key, default=False) for key in STOCK_ONLY]
        packed = tensordict_utils.get_non_tensor_data(data=micro_batch, key="use_remove_padding", default=True)
        if not packed or any(asked) or self.use_ulysses_sp:
            return False
        responses = micro_batch.get("responses", None)
        return responses is not None and responses.is_nested


def offload_policy(pin_memory: bool = True) -> CPUOffloadPolicy:
    """Where a reference model's weights wait: in memory pinned for an accelerator, as verl asks, if there is one."""
    return CPUOffloadPolicy(pin_memory=pin_memory and torch.accelerator.is_available())


cast("Any", transformer_impl).CPUOffloadPolicy = offload_policy
EngineRegistry.register(
    model_type="language_model", backend=["fsdp", "fsdp2"], device=["cuda"], vendor=["nvidia", "cpu"]
)(PackedEngine)
