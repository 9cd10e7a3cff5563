"""Optimise the agent's instructions for a model whose weights can't be trained.

    python train_sql_agent.py apo --model NAME [--endpoint URL] [--max-calls 2000] [--max-usd 5]

agentlightning's APO proposes, training questions decide. The run's folder, given again as --output-dir, goes on where
it ended. `python -m spider.export_strategy --checkpoint RUN` turns it into a strategy file. See docs/strategy.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spider.arguments import interruptible
from spider.data import ROOT, data_dir, load_environment, load_tasks
from spider.files import write_whole
from spider.quick_imports import quick_imports

if TYPE_CHECKING:
    from spider.chat_endpoint import ChatEndpoint
    from spider.strategy.budget import Price
    from spider.strategy.search import PromptSearch

logger = logging.getLogger("spider.apo_training")

NAMES = ("write", "rewrite", "check")
POLL_SECONDS = 0.1
# What a run can't change halfway: it would not be the same search.
FIXED = (
    "model", "optimizer_model", "prompts", "train_questions", "val_questions", "rounds", "beam_width",
    "branch_factor", "gradient_batch", "val_batch", "max_turns", "context_chars", "max_tokens", "seed",
)  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(
        prog="train_sql_agent.py apo", description="Optimise the agent's instructions with agentlightning's APO."
    )
    add = options.add_argument
    add("--endpoint", metavar="URL", help="base URL of the agent's model (OPENAI_BASE_URL of .env)")
    add("--model", metavar="NAME", help="its name there (MODEL of .env, or the first served)")
    add("--optimizer-endpoint", metavar="URL", help="base URL of the model that criticises and edits (the agent's)")
    add("--optimizer-model", metavar="NAME", help="its name there (the agent's)")
    add("--max-calls", type=int, default=2000, metavar="N", help="most calls of both models, of all sessions (2000)")
    add("--max-usd", type=float, metavar="USD", help="most money, of all sessions")
    add("--price", type=float, nargs=2, metavar=("PROMPT", "REPLY"), help="US dollars a million tokens (litellm's)")
    add("--prompts", default=",".join(NAMES), metavar="LIST", help=f"which instructions, in order ({','.join(NAMES)})")
    add("--train-files", type=Path, metavar="FILE", help="questions (train_spider.parquet of the data folder)")
    add("--train-questions", type=int, default=64, metavar="N", help="questions to learn from (64)")
    add("--val-questions", type=int, default=32, metavar="N", help="other ones that decide (32)")
    add("--rounds", type=int, default=2, metavar="N", help="rounds an instruction (2)")
    add("--beam-width", type=int, default=2, metavar="N", help="instructions kept a round (2)")
    add("--branch-factor", type=int, default=2, metavar="N", help="edits of each (2)")
    add("--gradient-batch", type=int, default=4, metavar="N", help="rollouts that a critique reads (4)")
    add("--val-batch", type=int, default=16, metavar="N", help="questions that choose the beam (16)")
    add("--max-turns", type=int, default=3, metavar="N", help="queries a question may take (3)")
    add("--context-chars", type=int, default=2048, metavar="N", help="most characters of schema and result (2048)")
    add("--max-tokens", type=int, default=1024, metavar="N", help="most tokens of a reply (1024)")
    add("--n-runners", type=int, default=8, metavar="N", help="rollouts in flight (8)")
    add("--seed", type=int, default=42, help="seed of the questions and of the search (42)")
    add("--output-dir", type=Path, metavar="DIR", help="the run's folder; an existing one is gone on with")
    add("--quiet", action="store_true", help="show only what goes wrong; run.log has the rest")
    return options


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 for a search that ended or spent its budget, 1 failed, 2 senseless, 130 interrupted."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    load_environment()
    try:
        return optimise(options)
    except (ValueError, OSError) as error:
        logger.error("error: %s", error)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        logging.getLogger("traceback").exception("the run failed")
        logger.error("error: %s", error)
        return 1


def optimise(options: argparse.Namespace) -> int:
    """Search, report, and return the exit code.

    Raises:
        ValueError: the request makes no sense as it stands, or another run is going on in the folder.
        RuntimeError: every rollout of a batch failed.
    """
    require_sense(options)
    train, val = split(options)
    run_dir = (options.output_dir or ROOT / "outputs" / f"apo-{datetime.now():%Y%m%d-%H%M%S}").resolve()
    from spider.run_control import take_folder
    from spider.run_logging import keep_libraries_quiet, set_up_logging, take_over_loggers
    from spider.strategy.models import endpoints, price_of
    from spider.verl_bridge.processes import relaunch_marked

    relaunch_marked("spider.train_sql_agent")
    keep_libraries_quiet()
    endpoint, optimizer = endpoints(options)
    prices = (price_of(endpoint.model, options), price_of(optimizer.model, options))
    lock = take_folder(run_dir)
    keep_settings(run_dir, options)
    set_up_logging(run_dir / "run.log", options.quiet)
    logger.info("%s: %d questions to learn from, %d others decide", endpoint.model, len(train), len(val))
    logger.info("run folder: %s", run_dir)
    search = make_search(options, run_dir, endpoint, optimizer, prices)
    take_over_loggers()
    fit(search, train, val, options.n_runners)
    lock.close()
    return report(search, run_dir)


def require_sense(options: argparse.Namespace) -> None:
    """Look at the options.

    Raises:
        ValueError: one makes no sense.
    """
    for name, value in vars(options).items():
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "seed" and value <= 0:
            raise ValueError(f"--{name.replace('_', '-')} is {value}: give more than 0")
    options.prompts = [name.strip() for name in options.prompts.split(",")]
    unknown = [name for name in options.prompts if name not in NAMES]
    if unknown:
        raise ValueError(f"--prompts: {unknown[0]!r} is none of {', '.join(NAMES)}")


def split(options: argparse.Namespace) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Questions to learn from, and others to decide on; both are training questions.

    Raises:
        ValueError: there are too few.
        OSError: there is no such file.
    """
    tasks = load_tasks(options.train_files or data_dir() / "train_spider.parquet")
    wanted = options.train_questions + options.val_questions
    if len(tasks) < wanted:
        raise ValueError(f"{wanted} questions are asked for, there are {len(tasks)}: give fewer --train-questions")
    chosen = random.Random(options.seed).sample(tasks, wanted)
    return chosen[: options.train_questions], chosen[options.train_questions :]


def keep_settings(run_dir: Path, options: argparse.Namespace) -> None:
    """Write a new run's settings, or compare them with those of the run that is gone on with.

    Raises:
        ValueError: they differ, or the folder is a training run's.
    """
    from spider.verl_bridge.run_folder import holds_a_run

    settings = {name: getattr(options, name) for name in FIXED}
    path = run_dir / "settings.json"
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        for name in FIXED:
            if before[name] != settings[name]:
                raise ValueError(
                    f"{run_dir} was begun with --{name.replace('_', '-')} {before[name]}, not {settings[name]}: "
                    "give the same, or another --output-dir"
                )
        return
    if holds_a_run(run_dir):
        raise ValueError(f"{run_dir} holds a training run: give another --output-dir")
    write_whole(path, json.dumps(settings, indent=2) + "\n")


def make_search(
    options: argparse.Namespace,
    run_dir: Path,
    endpoint: ChatEndpoint,
    optimizer: ChatEndpoint,
    prices: tuple[Price | None, Price | None],
) -> PromptSearch:
    """Put the search together: agent, journal, budget, the optimiser's client. `prices` are the two models'."""
    with quick_imports():
        from spider.strategy.budget import Ledger, MeteredEndpoint
        from spider.strategy.optimizer_client import JournaledTransport, journaled_client
        from spider.strategy.prompt_agent import AgentSettings, Journal, PromptedSQLAgent
        from spider.strategy.runs import ROLLOUTS
        from spider.strategy.search import PromptSearch, SearchSettings

    ledger = Ledger(run_dir / "spent.json", options.max_calls, options.max_usd)
    found = (endpoint.base_url, endpoint.model, endpoint.sampling, endpoint.api_key)
    metered = MeteredEndpoint(*found, ledger=ledger, price=prices[0])
    transport = JournaledTransport(run_dir / "optimizer.jsonl", ledger, prices[1], options.max_tokens)
    agent = PromptedSQLAgent(
        metered, Journal(run_dir / ROLLOUTS), AgentSettings(options.max_turns, options.context_chars)
    )
    settings = SearchSettings(
        prompts=options.prompts,
        optimizer_model=optimizer.model,
        rounds=options.rounds,
        beam_width=options.beam_width,
        branch_factor=options.branch_factor,
        gradient_batch_size=options.gradient_batch,
        val_batch_size=options.val_batch,
        seed=options.seed,
    )
    client = journaled_client(optimizer.base_url, optimizer.api_key, transport)
    return PromptSearch(agent, settings, client, ledger, run_dir)


def fit(search: PromptSearch, train: list[dict[str, str]], val: list[dict[str, str]], n_runners: int) -> None:
    """Run the search with agentlightning's trainer; as in training, its runners are processes."""
    import agentlightning as agl

    from spider.ports import free_port
    from spider.strategy.prompt_agent import NoTracer
    from spider.verl_bridge.waiting_store import WaitingStore

    tracer = NoTracer()
    trainer = agl.Trainer(
        n_runners=n_runners,
        algorithm=search,
        adapter=agl.TraceToMessages(),
        store=WaitingStore(thread_safe=True),
        tracer=tracer,
        runner=agl.LitAgentRunner(tracer, poll_interval=POLL_SECONDS, interval_jitter=POLL_SECONDS / 3),
        strategy=agl.ClientServerExecutionStrategy(
            n_runners=n_runners,
            server_host="127.0.0.1",
            server_port=free_port(),
            graceful_timeout=3.0,
            terminate_timeout=2.0,
        ),
    )
    trainer.fit(search.agent, train_dataset=train, val_dataset=val)


def report(search: PromptSearch, run_dir: Path) -> int:
    """Say what the search brought; agentlightning's strategy ends quietly on Ctrl-C."""
    spent = search.ledger.spent
    logger.info("spent: %d calls, %d tokens, $%.4f", spent.calls, spent.tokens, spent.usd)
    again = f"--output-dir {run_dir}"
    if not search.finished:
        logger.info("interrupted; to go on, give %s", again)
        return 130
    if search.budget_spent:
        logger.info("%s; to go on, give a larger budget and %s", search.budget_spent, again)
    if search.accuracy is None:
        logger.error("error: the budget ended before the usual instructions were measured: give a larger one")
        return 1
    logger.info("accuracy %.3f with the usual instructions, %.3f with the best", search.baseline, search.accuracy)
    logger.info("next: python -m spider.export_strategy --checkpoint %s", run_dir)
    return 0
