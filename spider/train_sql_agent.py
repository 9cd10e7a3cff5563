"""Train the SQL agent with GRPO.

    python train_sql_agent.py PRESET [--active-agent REGEX] [--steps N] [--model PATH] [--dry-run]
    python train_sql_agent.py apo --model NAME    # any API's model: its prompts (spider/apo_training.py)

Presets: tiny (two CPU cores), smollm2 (the same model on a GPU), fast (CI on a GPU), qwen, qwen-3b, llama (one 80 GB
GPU), npu (Ascend). They are in
``spider/presets.py``; the same command works from the repository's root as ``python -m spider.train_sql_agent``.
"""

import argparse
import json
import logging
import re
import sys
from pathlib import Path
from typing import cast

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import gibibytes, interruptible
from spider.ci_outputs import write_ci_outputs
from spider.data import data_dir, load_environment
from spider.output import show
from spider.ports import free_port
from spider.preflight import card_memory, load_split, require_fetchable, require_model, require_named
from spider.preset_changes import UsageError, add_preset_arguments, select_preset
from spider.presets import PRESETS, Preset
from spider.quick_imports import quick_imports
from spider.run_control import add_flags, begin, is_complete, run_folder, take_folder, with_course
from spider.verl_bridge.failures import in_words
from spider.verl_bridge.run_folder import RunFolderError
from spider.verl_bridge.verl_config import SettingError, require_questions, resolve_config
from spider.verl_overrides import to_verl

logger = logging.getLogger("spider.train_sql_agent")


RUNNER_POLL_SECONDS = 0.15
"""Seconds between a runner's looks at the store for work."""


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="train_sql_agent.py",
        description="Train the SQL agent with GRPO.",
        epilog="`apo` in place of a preset optimises the instructions of a model behind any API: see `apo --help`.",
    )
    parser.add_argument("preset", choices=[*sorted(PRESETS), "apo"], help="what to train, and on which machine")
    parser.add_argument(
        "--active-agent",
        default="write",
        metavar="REGEX",
        help="nodes to train: a regular expression searched in their names, or `all` (default: write, which also "
        "finds rewrite_query)",
    )
    parser.add_argument("--train-files", type=Path, metavar="FILE", help="training questions (parquet)")
    parser.add_argument("--val-files", type=Path, metavar="FILE", help="validation questions (parquet)")
    add_preset_arguments(parser)
    add_flags(parser)
    parser.add_argument("--seed", type=int, default=42, help="seed of data order and sampling (default: 42)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a value of verl's configuration, e.g. trainer.save_freq=10 (may be repeated)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the resolved verl configuration and stop")
    parser.add_argument(
        "--gpu-memory",
        type=gibibytes,
        metavar="GIB",
        help="memory of each card for the estimate (default: this machine's; in a dry run an 80 GB card's)",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--verbose", action="store_true", help="show what verl, vLLM and Ray print")
    shown.add_argument("--quiet", action="store_true", help="show only what goes wrong; run.log has the rest")
    return parser.parse_args(argv)


@interruptible
def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["apo"]:
        from spider.apo_training import main as optimise_prompts

        return optimise_prompts(given[1:])
    args = parse_args(given)
    load_environment()
    logging.basicConfig(level=logging.WARNING if args.quiet else logging.INFO, format="%(message)s")
    output_dir: Path | None = None
    try:
        preset = select_preset(args)
        output_dir = run_folder(args)
        config = with_settings(to_verl(preset, output_dir, args.seed, args.verbose), args.set)
        resolve_config(config)  # a misspelt key is refused before there is a run folder
        config = with_course(config, args, output_dir, preset.use_wandb)
        if args.dry_run:
            require_named(args)
            return dry_run(preset, config, args.gpu_memory)
        return train(preset, config, args, output_dir)
    except (UsageError, SettingError, RunFolderError) as error:
        logger.error("error: %s", error)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        logging.getLogger("traceback").exception("the run failed")
        logger.error("error: %s", in_words(error, output_dir))
        return 1


def with_settings(overrides: dict[str, object], settings: list[str]) -> dict[str, object]:
    """Return the overrides with the command line's ``KEY=VALUE`` settings merged in."""
    if not settings:
        return overrides
    from omegaconf import OmegaConf

    bad = [setting for setting in settings if "=" not in setting]
    if bad:
        raise UsageError(f"--set {bad[0]}: write KEY=VALUE, e.g. --set trainer.save_freq=10")
    merged = OmegaConf.to_container(OmegaConf.merge(overrides, OmegaConf.from_dotlist(settings)))
    return cast("dict[str, object]", merged)


def dry_run(preset: Preset, config: dict[str, object], gpu_memory: float | None) -> int:
    """Print the resolved verl configuration as JSON, and the memory estimate on the standard error."""
    from omegaconf import OmegaConf

    from spider.memory_estimate import CARD_GIB

    resolved = OmegaConf.to_container(resolve_config(config), resolve=True)
    show(json.dumps(resolved, indent=2))
    require_memory(preset, config, gpu_memory or CARD_GIB.get(preset.device))
    return 0


def require_memory(preset: Preset, config: dict[str, object], card_gib: float | None) -> None:
    """Report how much of a card's memory the run will take.

    Raises:
        UsageError: If the run cannot fit; the message names the flags that make it fit.
    """
    from spider.memory_estimate import plan_from_config, refusal, report
    from spider.model_shapes import model_shape

    if card_gib is None or preset.device == "cpu":
        return
    shape = model_shape(preset.model)
    if shape is None:
        logger.info("no memory estimate: the sizes of %s are not known before it is downloaded", preset.model)
        return
    plan = plan_from_config(config)
    for line in report(plan, shape, card_gib):
        logger.info("%s", line)
    reason = refusal(plan, shape, card_gib)
    if reason:
        raise UsageError(reason)


def train(preset: Preset, config: dict[str, object], args: argparse.Namespace, output_dir: Path) -> int:
    """Train, and return 0 when the run came to its end, 130 when it was interrupted."""
    from spider.verl_bridge.processes import relaunch_marked

    train_tasks = load_split(args.train_files, "train_spider.parquet")
    require_questions(config, len(train_tasks))
    val_tasks = load_split(args.val_files, "test_dev_500.parquet", preset.val_limit)
    require_model(preset)
    relaunch_marked("spider.train_sql_agent")
    card_gib = card_memory(preset)  # --gpu-memory makes no card
    require_memory(preset, config, args.gpu_memory or card_gib)
    require_fetchable(preset)
    write_ci_outputs(preset)  # refused, it leaves no folder
    lock = take_folder(output_dir)
    from spider.run_logging import set_up_logging, take_over_loggers

    set_up_logging(output_dir / "run.log", args.quiet)
    logger.info("%s: %d questions to train on, %d to validate on", preset.model, len(train_tasks), len(val_tasks))
    logger.info("run folder: %s", output_dir)
    begin(output_dir, config, args.resume)
    if is_complete(config, len(train_tasks)):
        logger.info("all steps of this run are done: nothing to resume (--steps N trains on)")
        return 0
    with quick_imports():
        import agentlightning as agl

        from spider.lit_agent import TrainedSQLAgent, span_bytes
        from spider.run_record import write_run_record
        from spider.tracing import RolloutTracer
        from spider.verl_bridge import VERL
        from spider.verl_bridge.training_runner import TrainingRunner
        from spider.verl_bridge.waiting_store import WaitingStore

    take_over_loggers()
    agent_match = ".*" if args.active_agent == "all" else args.active_agent
    agent = TrainedSQLAgent(
        trained_agents=agent_match,
        max_turns=preset.max_turns,
        table_info_truncate=preset.context_chars,
        execution_truncate=preset.context_chars,
        # The last turn's check can't change the answer: it is worth a call only where the checker is trained.
        check_last_turn=re.search(agent_match, "check_query") is not None,
        shaping=preset.shaping if args.shaped_reward else None,
        call_rewards=preset.call_rewards,
    )
    algorithm = VERL(config)
    write_run_record(
        output_dir,
        algorithm.config,
        preset=args.preset,
        active_agent=args.active_agent,
        seed=args.seed,
        train_file=args.train_files or data_dir() / "train_spider.parquet",
        train_questions=len(train_tasks),
        validation_file=args.val_files or data_dir() / "test_dev_500.parquet",
        validation_questions=len(val_tasks),
    )
    tracer = RolloutTracer(packs_token_ids=True)
    trainer = agl.Trainer(
        n_runners=preset.n_runners,
        algorithm=algorithm,
        adapter={"agent_match": agent_match},
        store=WaitingStore(thread_safe=True, span_size_estimator=span_bytes),
        tracer=tracer,
        runner=TrainingRunner(tracer, poll_interval=RUNNER_POLL_SECONDS, interval_jitter=RUNNER_POLL_SECONDS / 3),
        strategy=agl.ClientServerExecutionStrategy(
            n_runners=preset.n_runners,
            server_host="127.0.0.1",
            server_port=free_port(),
            graceful_timeout=3.0,
            terminate_timeout=2.0,
        ),
    )
    trainer.fit(agent, train_dataset=train_tasks, val_dataset=val_tasks)
    lock.close()
    if algorithm.finished:
        return 0
    # agentlightning's strategy ends quietly on Ctrl-C.
    logger.warning("interrupted: the same command with --resume --output-dir %s goes on", output_dir)
    return 130


if __name__ == "__main__":
    sys.exit(main())
