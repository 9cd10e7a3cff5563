"""How much of a card's memory a training run will take, estimated before anything is loaded.

Trainer and vLLM share each card and take turns, so three moments decide: the rollouts (vLLM's share beside what the
trainer keeps), the update's backward pass, and the optimizer's step.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from spider.model_shapes import ModelShape
from spider.preset_changes import LORA_MAX_TOKENS, LORA_RANK, LORA_VLLM_SHARE
from spider.verl_overrides import PACKED_ENGINE, SHARED_PROMPTS

GIB = 1024**3
FP32, BF16 = 4, 2

CARD_GIB = {"cuda": 79.0, "npu": 61.0}
"""Memory that torch reports for an 80 GB A100 or H100 and a 64 GB Ascend 910B, about."""

STOCK_LOGIT_COPIES = 4
"""Copies of the logits, in the forward pass's precision, at the backward pass's peak in verl's own engine without
flash-attn: the logits, their log-softmax row by row, its gradient by row, and the rows stacked."""

PACKED_LOGIT_BYTES = 2 * FP32
"""Bytes of a logit's log-softmax and its gradient, in 32 bits, in `PackedEngine`; the logit and its own gradient come
to two numbers of the forward pass's precision."""

FUSED_TOKENS = 1024
"""Tokens whose logits verl's fused kernels compute at once. Assumed, not measured."""

CONTEXTS_GIB = 2.0
"""What two CUDA contexts, vLLM's CUDA graphs and its sleeping allocator keep. Assumed, not measured."""

VLLM_WORKSPACE_GIB = 1.5
"""What vLLM needs of its share beside weights and KV cache: a prefill's activations, logits. Assumed, not measured."""

Phases = dict[str, dict[str, float]]


@dataclass(frozen=True)
class TrainingPlan:
    """What of a run decides its memory.

    Attributes:
        cards: Cards that share the trainer's weights, gradients and optimizer state.
        tokens: Tokens in one pass, per card. Rows of a fixed number count half their longest: padding is left out.
        max_model_len: Longest prompt with its response, in tokens.
        vllm_share: vLLM's share of the card's memory, 0 to 1.
        checkpointing: Whether activations are computed again in the backward pass.
        lora_rank: Rank of the adapters; 0 for none.
        param_offload: Whether the weights leave the card during rollouts.
        optimizer_offload: Whether the optimizer's state leaves the card during rollouts.
        number_bytes: Bytes of a number in the forward pass and in vLLM.
        response_share: Responses' part of the longest row, or of the longest group of rows that share a prompt, 0 to 1.
        packed_engine: Whether logits are computed for the responses alone (`PackedEngine`).
        fixed_rows: Whether a pass has a fixed number of rows, instead of as many as `tokens` allows.
        fused_logits: Whether log-probs are computed in blocks, without all logits at once.
    """

    cards: int
    tokens: int
    max_model_len: int
    vllm_share: float
    checkpointing: bool
    lora_rank: int
    param_offload: bool
    optimizer_offload: bool
    number_bytes: int = BF16
    response_share: float = 1.0
    packed_engine: bool = False
    fixed_rows: bool = False
    fused_logits: bool = False


def plan_from_config(config: Mapping[str, object]) -> TrainingPlan:
    """Read a plan from verl's configuration, as a nested dictionary that `to_verl` made."""

    def value(path: str, default: object = None) -> object:
        node: object = config
        for key in path.split("."):
            if not isinstance(node, Mapping) or key not in node:
                return default
            node = node[key]
        return node

    def number(path: str, default: float = 0) -> float:
        found = value(path, default)
        return float(found) if isinstance(found, int | float) else default

    actor, rollout, model = (f"actor_rollout_ref.{name}" for name in ("actor", "rollout", "model"))
    dynamic = value(f"{actor}.use_dynamic_bsz")
    prompt, response = number("data.max_prompt_length"), number("data.max_response_length")
    length = int(prompt + response)
    shares = value(f"{model}.override_config.attn_implementation") == SHARED_PROMPTS
    responses = number(f"{rollout}.n", 1) * response if shares and dynamic else response
    rows = int(number(f"{actor}.ppo_micro_batch_size_per_gpu", 1))
    return TrainingPlan(
        cards=int(number("trainer.n_gpus_per_node", 1) * number("trainer.nnodes", 1)),
        tokens=max(int(number(f"{actor}.ppo_max_token_len_per_gpu")), length)
        if dynamic
        else max(rows // 2, 1) * length,
        max_model_len=length,
        vllm_share=number(f"{rollout}.gpu_memory_utilization"),
        checkpointing=bool(value(f"{model}.enable_gradient_checkpointing")),
        lora_rank=int(number(f"{model}.lora_rank")),
        param_offload=bool(value(f"{actor}.fsdp_config.param_offload")),
        optimizer_offload=bool(value(f"{actor}.fsdp_config.optimizer_offload")),
        number_bytes=FP32 if value(f"{rollout}.dtype") == "float32" else BF16,
        response_share=responses / (prompt + responses),
        packed_engine=value(f"{model}.external_lib") == PACKED_ENGINE,
        fixed_rows=not dynamic,
        fused_logits=bool(value(f"{model}.use_fused_kernels")),
    )


def activation_bytes_per_token(shape: ModelShape, number_bytes: int = BF16) -> float:
    """Bytes that one decoder layer keeps of each token for its backward pass.

    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (arXiv 2205.05198, equation 2),
    count 34 bytes a token and unit of width for GPT's layer in 16 bits, beside the attention scores, which no kernel
    here keeps. Of transformers' Llama and Qwen2 layers autograd keeps 30, and 8 for each unit of their MLP's inner
    width: `tests/unit/test_activation_bytes.py` counts them.
    """
    return number_bytes / BF16 * (30 * shape.hidden + 8 * shape.intermediate)


def estimate(plan: TrainingPlan, shape: ModelShape, card_gib: float) -> Phases:
    """Estimate what each moment of a step takes of one card.

    verl keeps weights, gradients and AdamW's two moments in 32 bits (16 bytes a trained parameter: Rajbhandari et al.,
    "ZeRO", arXiv 1910.02054, section 3.1, but with one copy of the weights), sharded over all cards, and gathers a
    layer at a time in the forward pass's precision. The embeddings and the output layer stay gathered during a pass.

    Returns:
        GiB by component, for ``rollout``, ``update`` and ``optimizer step``.
    """
    adapters = shape.adapter_params(plan.lora_rank)
    trained = adapters or shape.params
    weights = FP32 * (shape.params + adapters) / plan.cards
    gradients = FP32 * trained / plan.cards
    moments = 2 * gradients
    gathered = plan.number_bytes * (shape.embedding_params + 2 * shape.layer_params)
    layer = activation_bytes_per_token(shape, plan.number_bytes) * plan.tokens
    layers_kept = 1 if plan.checkpointing else shape.layers
    inputs = plan.number_bytes * shape.hidden * shape.layers * plan.tokens if plan.checkpointing else 0
    phases: Phases = {
        "rollout": {
            "weights": 0 if plan.param_offload else weights,
            "optimizer": 0 if plan.optimizer_offload else moments,
            "vLLM": plan.vllm_share * card_gib * GIB,
        },
        "update": {
            "weights": weights + gathered,
            "gradients": gradients + (0 if adapters else gathered),
            "optimizer": moments,
            "activations": layer * layers_kept + inputs,
            "logits": logit_bytes(plan) * shape.vocab,
        },
        # torch's AdamW works on all tensors at once and makes one more of each.
        "optimizer step": {"weights": weights, "gradients": 2 * gradients, "optimizer": moments},
    }
    for parts in phases.values():
        parts["contexts"] = CONTEXTS_GIB * GIB
    return {name: {part: size / GIB for part, size in parts.items()} for name, parts in phases.items()}


def logit_bytes(plan: TrainingPlan) -> float:
    """Bytes of all logits of one word of the vocabulary, with what the loss and its gradient make of them.

    Of packed rows, as many tokens are counted as responses of full length would be.
    """
    if plan.fused_logits:
        return STOCK_LOGIT_COPIES * plan.number_bytes * min(plan.tokens, FUSED_TOKENS)
    if plan.packed_engine:
        return (PACKED_LOGIT_BYTES + 2 * plan.number_bytes) * plan.tokens * plan.response_share
    return STOCK_LOGIT_COPIES * plan.number_bytes * plan.tokens


def kv_cache_tokens(plan: TrainingPlan, shape: ModelShape, card_gib: float) -> int:
    """Tokens that fit vLLM's KV cache; negative when its share does not even hold the weights."""
    weights = plan.number_bytes * shape.params / GIB
    free = plan.vllm_share * card_gib - weights - VLLM_WORKSPACE_GIB
    return int(free * GIB / shape.kv_bytes_per_token(plan.number_bytes))


def problem(plan: TrainingPlan, shape: ModelShape, card_gib: float) -> str | None:
    """Say what does not fit the card; None when everything does."""
    for phase, parts in estimate(plan, shape, card_gib).items():
        total = sum(parts.values())
        if total > card_gib:
            return f"the {phase} needs {total:.1f} GiB"
    tokens = kv_cache_tokens(plan, shape, card_gib)
    if tokens < plan.max_model_len:
        return f"vLLM's share leaves a KV cache of {max(tokens, 0)} tokens, and one call may need {plan.max_model_len}"
    return None


def flags_that_fit(plan: TrainingPlan, shape: ModelShape, card_gib: float) -> list[str] | None:
    """Return the fewest flags with which the plan fits the card; None when none do.

    Among equally few, those that change less of the run come first.
    """
    # The first group is the last here: `product` varies it first, and --set is read after --lora.
    combinations = product(*[(None, *group) for group in reversed(_options(plan))])
    for combination in sorted(combinations, key=lambda chosen: len(chosen) - chosen.count(None)):
        chosen = [option for option in combination if option is not None]
        changed = plan
        for _, change in chosen:
            changed = change(changed)
        if problem(changed, shape, card_gib) is None:
            return [flag for flag, _ in chosen]
    return None


Option = tuple[str, Callable[[TrainingPlan], TrainingPlan]]


def _options(plan: TrainingPlan) -> list[list[Option]]:
    """List the flags that save memory with what each makes of a plan; one of each group can be chosen."""
    actor, rollout, model = (f"--set actor_rollout_ref.{name}" for name in ("actor", "rollout", "model"))

    def change(**values: float | bool) -> Callable[[TrainingPlan], TrainingPlan]:
        return lambda changed: replace(changed, **values)

    shares = [share for share in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2) if share != plan.vllm_share]
    options: list[list[Option]] = [
        [(f"{rollout}.gpu_memory_utilization={share}", change(vllm_share=share)) for share in shares]
    ]
    if plan.tokens > plan.max_model_len:
        tokens = plan.max_model_len
        flag = f"{actor}.ppo_max_token_len_per_gpu={tokens}"
        if plan.fixed_rows:
            flag = f"{actor}.use_dynamic_bsz=true {flag}"
        options.append([(flag, change(tokens=tokens))])
    if not plan.checkpointing:
        options.append([(f"{model}.enable_gradient_checkpointing=true", change(checkpointing=True))])
    if not (plan.param_offload and plan.optimizer_offload):
        flag = f"{actor}.fsdp_config.param_offload=true {actor}.fsdp_config.optimizer_offload=true"
        options.append([(flag, change(param_offload=True, optimizer_offload=True))])
    if not plan.lora_rank:
        options.append([("--lora", with_lora_sizes)])
    if plan.cards == 1:
        options.append([(f"--gpus {cards}", change(cards=cards)) for cards in (2, 4, 8)])
    return options


def with_lora_sizes(plan: TrainingPlan) -> TrainingPlan:
    """Return the plan that ``--lora`` makes of this one."""
    return replace(
        plan,
        lora_rank=LORA_RANK,
        vllm_share=min(plan.vllm_share, LORA_VLLM_SHARE),
        tokens=max(min(plan.tokens, LORA_MAX_TOKENS), plan.max_model_len),
    )


def report(plan: TrainingPlan, shape: ModelShape, card_gib: float) -> Iterator[str]:
    """Yield the lines that tell the estimate."""
    yield f"memory estimate for a card of {card_gib:g} GiB, {shape.params / 1e9:.2f} billion parameters:"
    for phase, parts in estimate(plan, shape, card_gib).items():
        details = ", ".join(f"{part} {size:.1f}" for part, size in parts.items() if size >= 0.05)
        yield f"  {phase}: {sum(parts.values()):.1f} GiB ({details})"
    tokens = kv_cache_tokens(plan, shape, card_gib)
    yield f"  KV cache: {max(tokens, 0)} tokens, {max(tokens, 0) // plan.max_model_len} calls of full length at a time"


def refusal(plan: TrainingPlan, shape: ModelShape, card_gib: float) -> str | None:
    """Say in one line why the plan can't run on the card and what would; None when it can."""
    reason = problem(plan, shape, card_gib)
    if reason is None:
        return None
    flags = flags_that_fit(plan, shape, card_gib)
    mend = f"add {' '.join(flags)}" if flags else "take a larger card or a smaller --model"
    return f"this does not fit a card of {card_gib:g} GiB: {reason}; {mend}"
