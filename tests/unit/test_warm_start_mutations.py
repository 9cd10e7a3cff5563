"""Wrong queries of the warm start."""

import random

import pytest

from spider.warm_start.mutations import Mutation, mutations

TABLES = {"head": ["head_id", "name", "age"], "management": ["department_id", "head_id", "acting"]}
QUERY = (
    "SELECT DISTINCT T1.name, count(*) FROM head AS T1 JOIN management AS T2 ON T1.head_id = T2.head_id "
    "WHERE T1.age >= 56 AND T2.acting != 'Yes' GROUP BY T1.name ORDER BY count(*) DESC LIMIT 3"
)


def made(kind: str, query: str = QUERY, seed: int = 0) -> list[Mutation]:
    return [mutation for mutation in mutations(query, TABLES, random.Random(seed)) if mutation.kind == kind]


@pytest.mark.parametrize(
    "kind",
    ["column", "invented column", "table", "aggregate", "operator", "literal", "clause", "join", "distinct", "syntax"],
)
def test_every_kind_of_mistake_is_made(kind: str) -> None:
    assert made(kind)


def test_no_mutation_leaves_the_query_as_it_was() -> None:
    assert all(mutation.query != QUERY for mutation in mutations(QUERY, TABLES, random.Random(1)))


def test_the_same_seed_gives_the_same_mutations() -> None:
    runs = [list(mutations(QUERY, TABLES, random.Random(7))) for _ in range(2)]
    assert runs[0] == runs[1]


def test_feedback_is_one_line() -> None:
    assert all("\n" not in mutation.feedback for mutation in mutations(QUERY, TABLES, random.Random(2)))


def test_a_dropped_where_clause_ends_at_the_next_clause() -> None:
    assert QUERY.replace("WHERE T1.age >= 56 AND T2.acting != 'Yes' ", "") in {each.query for each in made("clause")}


def test_a_dropped_clause_in_a_subquery_ends_at_its_bracket() -> None:
    query = "SELECT name FROM head WHERE head_id IN (SELECT head_id FROM management WHERE acting = 'Yes')"
    assert "SELECT name FROM head WHERE head_id IN (SELECT head_id FROM management )" in {
        each.query for each in made("clause", query)
    }


def test_an_invented_column_is_in_no_table() -> None:
    known = {column for columns in TABLES.values() for column in columns}
    for mutation in made("invented column"):
        invented = mutation.feedback.removeprefix("There is no column ").partition(";")[0]
        assert invented not in known
        assert invented in mutation.query


def test_a_double_quoted_column_is_not_taken_for_a_literal() -> None:
    assert not made("literal", 'SELECT "name" FROM head')
