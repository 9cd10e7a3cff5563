"""Spider's four hardness levels, computed from sqlglot's parse of a query.

Levels of a data folder's files:  python scripts/prepare_data.py --describe data/sample

The rule counts three things in the outermost SELECT (for a set operation, in its first one):
  clauses     WHERE, GROUP BY, ORDER BY and LIMIT, one each; every table after the first; every OR and every LIKE
              in the conditions of WHERE, HAVING and ON
  nested      set operations, and sub-queries inside conditions
  extras      one for each that holds: more than one aggregate, more than one selected column, more than one
              condition in WHERE, more than one grouping column
It is the published rule (Yu et al. 2018, "Spider", section 5) without the quirks of the reference parser, so single
queries may land one level off from the official lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

Hardness = Literal["easy", "medium", "hard", "extra"]
LEVELS: tuple[Hardness, ...] = get_args(Hardness)


def hardness(query: str) -> Hardness:
    """Spider's hardness level of one SQLite query.

    Raises:
        ValueError: the text is not one SELECT, or set operation of SELECTs, that sqlglot can parse.
    """
    select, set_operations = _first_select(query)
    where, having, group = (select.args.get(name) for name in ("where", "having", "group"))
    joins: list[exp.Join] = select.args.get("joins") or []
    conditions = [root for root in (where, having, *(join.args.get("on") for join in joins)) if root is not None]
    clauses = (
        sum(select.args.get(name) is not None for name in ("where", "group", "order", "limit"))
        + len(joins)
        + sum(isinstance(node, exp.Or | exp.Like) for root in conditions for node in _level_nodes(root))
    )
    nested = set_operations + sum(isinstance(node, exp.Query) for root in conditions for node in _level_nodes(root))
    extras = (
        int(sum(isinstance(node, exp.AggFunc) for node in _level_nodes(select)) > 1)
        + int(len(select.expressions) > 1)
        + int(where is not None and sum(1 for node in _level_nodes(where) if isinstance(node, exp.Connector)) > 0)
        + int(group is not None and len(group.expressions) > 1)
    )
    return _level(clauses, nested, extras)


def _level(clauses: int, nested: int, extras: int) -> Hardness:
    """The published thresholds, from the three counts."""
    if nested == 0:
        if clauses <= 1 and extras == 0:
            return "easy"
        if (clauses <= 1 and extras <= 2) or (clauses == 2 and extras <= 1):
            return "medium"
        if (clauses <= 2 and extras > 2) or (clauses == 3 and extras <= 2):
            return "hard"
    elif nested == 1 and clauses <= 1 and extras == 0:
        return "hard"
    return "extra"


def _first_select(query: str) -> tuple[exp.Select, int]:
    """The outermost SELECT (the leftmost one of a set operation) and the number of set operations."""
    try:
        tree: exp.Expr | None = sqlglot.parse_one(query, read="sqlite")
    except SqlglotError as error:
        raise ValueError(f"not a query that sqlglot can parse: {query!r}") from error
    set_operations = 0
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        set_operations += isinstance(tree, exp.SetOperation)
        tree = tree.this
    if not isinstance(tree, exp.Select):
        raise ValueError(f"not a SELECT: {query!r}")
    return tree, set_operations


def _level_nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """All nodes under `root`, inner queries included but not entered."""
    return root.walk(prune=lambda node: node is not root and isinstance(node, exp.Query))
