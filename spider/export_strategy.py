"""Write what a run has learnt about using its model: instructions, rules and patterns, as one JSON file.

    python -m spider.export_strategy --checkpoint outputs/apo-... --output optimized_strategy.json

Every query of the run's rollouts is run again, so the data folder must be the one that the run used. See
docs/strategy.md.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible

if TYPE_CHECKING:
    from spider.strategy.measure import Trace
    from spider.strategy.runs import Run
    from spider.strategy.schema import Strategy

logger = logging.getLogger("spider.export_strategy")


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(
        prog="export_strategy", description="Write a run's instructions and the rules measured in it as one JSON file."
    )
    options.add_argument("--checkpoint", type=Path, required=True, metavar="RUN", help="a run's folder (outputs/...)")
    options.add_argument(
        "--output", type=Path, default=Path("optimized_strategy.json"), metavar="FILE", help="optimized_strategy.json"
    )
    options.add_argument(
        "--min-evidence",
        type=int,
        default=10,
        metavar="N",
        help="rewrites after which counts overrule the checker (10)",
    )
    options.add_argument("--quiet", action="store_true", help="say nothing but errors")
    return options


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0, 1 for a run that gives nothing, 2 for a request that makes no sense."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.ERROR if options.quiet else logging.INFO, format="%(message)s", stream=sys.stderr)
    from spider.files import refuse_folder
    from spider.strategy.runs import load_run
    from spider.strategy.schema import save_strategy

    try:
        if options.min_evidence < 1:
            raise ValueError("--min-evidence must be at least 1")
        refuse_folder(options.output)  # before minutes of queries
        run = load_run(options.checkpoint)
        traces = traces_of(run, quiet=options.quiet)
    except (ValueError, OSError) as error:
        logger.error("error: %s", error)
        return 2
    except KeyboardInterrupt:
        return 130
    if not traces:
        logger.error("error: no rollout of %s can be judged: all failed, or their texts were left out", run.folder)
        return 1
    strategy = strategy_of(run, traces, options.min_evidence)
    try:
        save_strategy(strategy, options.output)
    except OSError as error:
        logger.error("error: can't write %s: %s", options.output, error.strerror or error)
        return 1
    logger.info("%s\nwritten to %s", described(strategy), options.output)
    return 0


def traces_of(run: Run, quiet: bool = False) -> list[Trace]:
    """The run's rollouts with every query run again.

    Raises:
        OSError: a database isn't where the run had it.
    """
    from tqdm import tqdm

    from spider.data import database_path
    from spider.strategy.measure import trace

    records = tqdm(run.records, desc="running queries", unit="rollout", disable=quiet or None, file=sys.stderr)
    traces = (trace(record, database_path(str(record["db_id"]), str(record["mode"]))) for record in records)
    return [each for each in traces if each is not None]


def strategy_of(run: Run, traces: Sequence[Trace], min_evidence: int) -> Strategy:
    """The strategy that a run's rollouts speak for."""
    from statistics import fmean

    from spider.strategy.measure import decision_rules, interaction_patterns
    from spider.strategy.schema import Source, Strategy

    rules = decision_rules(traces, min_evidence)
    accuracy = round(fmean(each.right for each in traces), 4)
    return Strategy(
        source=Source(run=run.folder.name, kind=run.kind, model=run.model, rollouts=len(traces), accuracy=accuracy),
        prompt_templates=run.templates,
        decision_rules=rules,
        interaction_patterns=interaction_patterns(traces, rules),
    )


def described(strategy: Strategy) -> str:
    """The rules and their counts, for people."""
    source, rules = strategy.source, strategy.decision_rules
    shares = ", ".join(f"{share:.3f} with {n}" for n, share in rules.accuracy_by_attempts.items())
    lines = [
        f"{source.rollouts} rollouts of {source.run}: accuracy by attempts {shares}; max_attempts {rules.max_attempts}",
        f"{'outcome of a query':24} {'queries':>7} {'right':>6} {'rewritten':>9} {'repaired':>8} {'broken':>6}  action",
    ]
    lines += [
        f"{name:24} {rule.queries:7} {rule.right:6} {rule.rewritten:9} {rule.repaired:8} {rule.broken:6}  {rule.action}"
        for name, rule in rules.by_outcome.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
