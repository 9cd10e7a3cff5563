"""The function that expands a preset to verl's nested dictionary."""

from pathlib import Path

from spider.presets import Preset, model_path
from spider.server_flags import CPU_EXECUTOR

GRPO_BY_CALL = "grpo_by_call"
"""Name of the advantage of `spider.verl_bridge.call_advantages`."""

PACKED_ENGINE, SHARED_PROMPTS = "spider.verl_bridge.packed_engine", "varlen_shared"

LORA_ALPHA = 32
"""The adapters' output is scaled by this over their rank, so that one learning rate suits every rank."""


def to_verl(preset: Preset, output_dir: Path, seed: int = 42, verbose: bool = False) -> dict[str, object]:
    """Expand a preset into overrides of verl's configuration.

    Args:
        preset: What differs.
        output_dir: Folder of the run: checkpoints, logs, learning curve.
        seed: Seed of the data order, the update's shuffling and vLLM.
        verbose: Whether to show what verl, vLLM and Ray print.
    """
    fsdp = {
        "param_offload": preset.offload,
        "optimizer_offload": preset.offload,
        "use_torch_compile": preset.torch_compile,
        # `dtype` alone leaves the forward pass under bfloat16 autocast.
        "mixed_precision": {"param_dtype": preset.dtype, "reduce_dtype": "float32", "buffer_dtype": "float32"},
        "seed": seed,
    }
    config: dict[str, object] = {
        "algorithm": {
            "adv_estimator": GRPO_BY_CALL if preset.call_rewards else "grpo",
            "use_kl_in_reward": False,
            "rollout_correction": {"bypass_mode": preset.bypass_old_log_probs},
            "filter_groups": {"enable": preset.filter_groups},
        },
        "data": {
            "train_batch_size": preset.train_batch_size,
            "max_prompt_length": preset.max_prompt_length,
            "max_response_length": preset.max_response_length,
            "seed": seed,
            "dataloader_num_workers": 0,
        },
        "actor_rollout_ref": {
            "model": {
                "path": model_path(preset.model),
                "use_remove_padding": True,
                **_engine(preset.device),
                "enable_gradient_checkpointing": preset.gradient_checkpointing,
                **_lora(preset),
            },
            "actor": {
                "strategy": "fsdp2",
                "ppo_mini_batch_size": preset.mini_batch_size,
                "use_dynamic_bsz": preset.micro_batch_size is None,
                "ppo_micro_batch_size_per_gpu": preset.micro_batch_size,
                "ppo_max_token_len_per_gpu": preset.max_token_len,
                "optim": {
                    "lr": preset.learning_rate,
                    "lr_scheduler_type": preset.lr_schedule,
                    "lr_warmup_steps": preset.warmup_steps,
                },
                "use_kl_loss": False,
                "loss_agg_mode": preset.loss_agg_mode,
                "clip_ratio_low": 0.2,
                "clip_ratio_high": 0.3,
                "use_torch_compile": preset.torch_compile,
                "fsdp_config": fsdp,
            },
            "rollout": _rollout(preset, seed),
        },
        "reward": {"num_workers": 0},
        "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
        "trainer": {
            "device": preset.device,
            "n_gpus_per_node": preset.n_gpus,
            "nnodes": preset.n_nodes,
            "logger": ["console", "tensorboard"],
            "project_name": preset.project,
            "experiment_name": preset.experiment,
            "total_epochs": preset.epochs,
            "total_training_steps": preset.steps,
            "test_freq": preset.test_freq,
            "save_freq": preset.save_freq,
            "val_before_train": preset.val_before_train,
            "default_local_dir": str(output_dir / "checkpoints"),
            "resume_mode": "disable",
        },
        "agentlightning": {"output_dir": str(output_dir), "verbose": verbose},
    }
    if preset.device == "cpu":
        # One logical GPU places the one worker; twelve logical cores let Ray start all actors on a small machine.
        config["ray_kwargs"] = {"ray_init": {"num_gpus": 1, "num_cpus": 12}}
    return config


def _engine(device: str) -> dict[str, object]:
    if device == "npu":
        return {"override_config": {"attn_implementation": "sdpa"}}
    # verl's own engine takes log-probabilities token by token in Python where flash-attn is missing.
    return {
        "external_lib": PACKED_ENGINE,
        "override_config": {"attn_implementation": SHARED_PROMPTS},
    }


def _lora(preset: Preset) -> dict[str, object]:
    if not preset.lora_rank:
        return {}
    # Merged, because the agents ask vLLM's server for the model by its name and would be answered without an adapter.
    return {
        "lora_rank": preset.lora_rank,
        "lora_alpha": LORA_ALPHA,
        "target_modules": "all-linear",
        "lora": {"merge": True},
    }


def _rollout(preset: Preset, seed: int) -> dict[str, object]:
    rollout: dict[str, object] = {
        "name": "vllm",
        "n": preset.n,
        "log_prob_micro_batch_size_per_gpu": preset.micro_batch_size,
        "tensor_model_parallel_size": 1,
        "dtype": preset.dtype,
        "gpu_memory_utilization": preset.gpu_memory_utilization,
        "max_model_len": preset.max_prompt_length + preset.max_response_length,
        "seed": seed,
    }
    if preset.tool_parser:
        rollout["multi_turn"] = {"format": preset.tool_parser}
    if preset.device == "cuda":
        # Graphs of decoding alone, without vLLM's compiler: as fast, and ready 40 s sooner (docs/speed.md).
        graphs = {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}
        rollout["engine_kwargs"] = {"vllm": {"compilation_config": graphs}}
    if preset.device == "cpu":
        rollout |= {
            "enable_sleep_mode": False,
            "free_cache_engine": False,
            "enforce_eager": True,
            "max_num_seqs": 32,
            "agent": {"num_workers": 1},
            "engine_kwargs": {
                "vllm": {
                    "worker_extension_cls": "spider.verl_bridge.cpu_worker_extension.CPUWorkerExtension",
                    "distributed_executor_backend": CPU_EXECUTOR,
                }
            },
        }
    return rollout
