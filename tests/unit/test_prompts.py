import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spider.prompts import (
    DEFAULT_TEMPLATES,
    Templates,
    check_messages,
    extract_query,
    format_query,
    is_correct,
    rewrite_messages,
    write_messages,
)
from tests.timing import within

SCHEMA = "CREATE TABLE pet (\nid INTEGER PRIMARY KEY,\nname TEXT\n);"
QUESTION = "How many pets are there?"
OPENING = f"{SCHEMA}\n\nQuestion: {QUESTION}\n\n"
ATTEMPT = "Query:\n```sql\nSELECT name FROM pet\n```\n\nResult:\nNo rows. Columns: name\n\n"

MISTAKES = (
    "NOT IN with NULL",
    "UNION in place of UNION ALL",
    "BETWEEN for an exclusive range",
    "mismatched types in predicates",
    "not quoted",
    "number of arguments",
    "cast",
    "joins on the wrong columns",
    "execution failed",
    "unreasonable result",
)


def test_the_write_prompt_is_pinned() -> None:
    assert write_messages(QUESTION, SCHEMA) == [
        {"role": "system", "content": "You are a careful SQLite analyst."},
        {
            "role": "user",
            "content": OPENING + "Write one SQLite query that answers the question. Use only the tables and columns "
            "shown. Reply with the query alone, fenced by ```sql and ```.",
        },
    ]


def test_the_check_prompt_is_pinned() -> None:
    messages = check_messages(QUESTION, SCHEMA, "SELECT name FROM pet", "No rows. Columns: name")
    assert messages[0]["content"] == "You are a careful SQLite analyst."
    assert messages[1]["content"] == (
        OPENING + ATTEMPT + "Does the query answer the question? Common mistakes: NOT IN with NULL; UNION in place of "
        "UNION ALL; BETWEEN for an exclusive range; mismatched types in predicates; identifiers not quoted; a wrong "
        "number of arguments; a cast to the wrong type; joins on the wrong columns; execution failed; an unreasonable "
        "result. Name the mistakes you find in one line each, then end with THE QUERY IS CORRECT. or THE QUERY IS "
        "INCORRECT."
    )


def test_the_rewrite_prompt_is_pinned() -> None:
    messages = rewrite_messages(QUESTION, SCHEMA, "SELECT name FROM pet", "No rows. Columns: name", "Count them.")
    assert messages[1]["content"] == (
        OPENING + ATTEMPT + "Feedback:\nCount them.\n\nWrite a better SQLite query that answers the question and mends "
        "these mistakes. Use only the tables and columns shown. Reply with the query alone, fenced by ```sql and ```."
    )


def test_other_instructions_take_the_place_of_the_usual_ones_inside_the_same_frame() -> None:
    templates = Templates(system="You know {dialect}.", write="Go, {dialect}: {x}!", rewrite="Again.")
    assert write_messages(QUESTION, SCHEMA, "MySQL", templates) == [
        {"role": "system", "content": "You know MySQL."},
        {"role": "user", "content": OPENING + "Go, MySQL: {x}!"},
    ]
    rewritten = rewrite_messages(
        QUESTION, SCHEMA, "SELECT name FROM pet", "No rows. Columns: name", "No.", "", templates
    )
    assert rewritten[1]["content"] == OPENING + ATTEMPT + "Feedback:\nNo.\n\nAgain."


@pytest.mark.parametrize("changes", [{"check": "Is it right?"}, {"write": " "}, {"check": "THE QUERY IS INCORRECT."}])
def test_instructions_that_the_agent_cannot_work_with_are_refused(changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="the template"):
        replace(DEFAULT_TEMPLATES, **changes)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_checker_is_told_of_each_kind_of_mistake(mistake: str) -> None:
    assert mistake in check_messages(QUESTION, SCHEMA, "", "")[1]["content"]


def test_every_prompt_names_the_dialect_it_is_for() -> None:
    for messages in (
        write_messages("q", "s", "PostgreSQL"),
        check_messages("q", "s", "", "", "PostgreSQL"),
        rewrite_messages("q", "s", "", "", "", "PostgreSQL"),
    ):
        text = " ".join(message["content"] for message in messages)
        assert "PostgreSQL" in text
        assert "SQLite" not in text


def test_prompts_share_their_opening_so_that_a_prefix_cache_serves_every_turn() -> None:
    prompts = [
        "".join(message["content"] for message in messages)
        for messages in (
            write_messages(QUESTION, SCHEMA),
            check_messages(QUESTION, SCHEMA, "", ""),
            rewrite_messages(QUESTION, SCHEMA, "", "", ""),
        )
    ]
    assert all(prompt.startswith("You are a careful SQLite analyst." + OPENING) for prompt in prompts)


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("```SQL\nSELECT 1;\n```", "SELECT 1"),
        ("```SQLite\r\nSELECT 1\r\nFROM t\r\n```", "SELECT 1\nFROM t"),
        ("```\nSELECT 1\n```", "SELECT 1"),
        ("```postgresql\nSELECT 1\n```", "SELECT 1"),
        ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
        ("    ```sql\n    SELECT 1\n    ```", "SELECT 1"),
        ("1. First:\n   ```sql\n   SELECT 1\n   ```\n2. Done.", "SELECT 1"),
        ("```sql SELECT 1```", "SELECT 1"),
        ("Use ```SELECT 1``` here", "SELECT 1"),
        ("```sql\nSELECT 1", "SELECT 1"),
        ("```sql\nSELECT 1\n``", "SELECT 1\n``"),
        ("````sql\nSELECT 1\n```", "SELECT 1"),
        ("```sql\nSELECT a\n\nFROM t\n\nThis query counts.", "SELECT a\n\nFROM t"),
        ("```sql\nSELECT 1\n\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("```sql\nSELECT 1\n```\nor better\n```sql\nSELECT 2\n```\nas asked", "SELECT 2"),
        ("```sql\nSELECT 1\n```\nwhich gives\n```\n1 | 2\n```", "SELECT 1"),
        ("```sql\n-- all pets\nSELECT 1\n```", "-- all pets\nSELECT 1"),
        ("```sql\n(SELECT 1) UNION (SELECT 2)\n```", "(SELECT 1) UNION (SELECT 2)"),
        ("```sql\nwith c as (select 1) select * from c\n```", "with c as (select 1) select * from c"),
        ("```sql\nDELETE FROM pet\n```", "DELETE FROM pet"),
        ("```\nThe query: SELECT 1;\n```", "SELECT 1"),
        ("```sql\nSELECT 1; SELECT 2;\n```", "SELECT 1; SELECT 2"),
        ("<think>```sql\nSELECT 1\n```</think>SELECT 2", "SELECT 2"),
    ],
)
def test_the_last_fenced_query_is_extracted(reply: str, query: str) -> None:
    assert extract_query(reply) == query


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("SELECT name FROM pet", "SELECT name FROM pet"),
        ("select name\nfrom pet;\n", "select name\nfrom pet"),
        ("The query is: SELECT name FROM pet; it lists names.", "SELECT name FROM pet"),
        ("SELECT name FROM pet\n\nThis lists names.", "SELECT name FROM pet"),
        ("SELECT name FROM pet\nThis query lists all names.", "SELECT name FROM pet"),
        ("You can use SELECT name FROM pet WHERE id > 1.5. Done.", "SELECT name FROM pet WHERE id > 1.5"),
        ("Run `SELECT name FROM pet` to see", "SELECT name FROM pet"),
        ("SELECT name FROM pet WHERE name = 'a; b. C' OR 1;", "SELECT name FROM pet WHERE name = 'a; b. C' OR 1"),
        ("First SELECT 1; then SELECT 2;", "SELECT 2"),
        ("Answer: WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c"),
        ("SELECT name FROM pet\n```\nname\nRex\n```", "SELECT name FROM pet"),
        ("SELECT name\n\nFROM pet\n\nWHERE id = 1\n\nThis is it.", "SELECT name\n\nFROM pet\n\nWHERE id = 1"),
        ("The query is **SELECT name FROM pet**", "SELECT name FROM pet"),
        ("SELECT a FROM b\n\nGROUP BY groups the rows per country.", "SELECT a FROM b"),
        ("SELECT a FROM b\n\nA LEFT JOIN is used here", "SELECT a FROM b"),
    ],
)
def test_a_bare_query_is_found_in_prose(reply: str, query: str) -> None:
    assert extract_query(reply) == query


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "```",
        "``````",
        "I can't answer that.",
        "You should select the names with care.",
        "```sql\nGENERATED QUERY\n```",
        "```sql\nYOUR QUERY HERE\n```",
        "```sql\nSELECT ...\n```",
        "```sql\n...\n```",
        "```sql\n<query>\n```",
        "```sql\n```",
        "fenced by ```sql and ```.",
        [],
    ],
)
def test_a_reply_without_a_query_gives_an_empty_one(reply: str | list[str]) -> None:
    assert extract_query(reply) == ""


def test_many_comments_take_no_time() -> None:
    reply = f"```sql\n{'/* a */ ' * 60}nothing\n```"
    assert within(2, lambda: extract_query(reply))


def test_parts_of_a_reply_are_joined() -> None:
    parts = [{"type": "reasoning", "text": "SELECT 9"}, {"type": "text", "text": "```sql\nSELECT"}, " 1\n```"]
    assert extract_query(parts) == "SELECT 1"


@given(st.text())
def test_extraction_never_raises(text: str) -> None:
    assert isinstance(extract_query(text), str)


CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Zs"], exclude_characters="~")
# What ends a reasoning model's thoughts ends them inside a query, too.
FENCED_SQL = st.text(alphabet=CHARACTERS, min_size=1).filter(lambda text: "</think>" not in text)


@given(FENCED_SQL)
def test_a_formatted_query_is_extracted_unchanged(tail: str) -> None:
    sql = re.sub(r";+$", "", f"SELECT '{tail}' x")
    assert extract_query(format_query(sql)) == sql


@pytest.mark.parametrize(
    "reply",
    [
        "THE QUERY IS CORRECT.",
        "the query is correct",
        "**THE QUERY IS CORRECT.**",
        "The query is **correct**!",
        "`THE QUERY IS CORRECT`",
        "<b>THE QUERY IS CORRECT</b>",
        "THE_QUERY_IS_CORRECT",
        "THE QUERY\nIS  CORRECT",
        "THE QUERY IS INCORRECT. Wait, no: THE QUERY IS CORRECT.",
    ],
)
def test_a_last_verdict_of_correct_counts(reply: str) -> None:
    assert is_correct(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Correct.",
        "The query is fine.",
        "THE QUERY IS INCORRECT.",
        "**The query is** *incorrect*",
        "THE QUERY IS CORRECT. On reflection, THE QUERY IS INCORRECT.",
        "THE QUERY IS CORRECTED",
        "THE QUERY IS CORRECT. but <limit n=3 fails. THE QUERY IS INCORRECT. see col >",
        'THE QUERY IS CORRECT. Hmm: THE QUERY IS <font color="red">INCORRECT</font>',
        "End with THE QUERY IS CORRECT. or THE QUERY IS INCORRECT.",
    ],
)
def test_any_other_last_verdict_does_not(reply: str) -> None:
    assert not is_correct(reply)


def test_a_verdict_is_read_from_parts() -> None:
    assert is_correct([{"type": "text", "text": "THE QUERY IS "}, {"type": "text", "text": "CORRECT."}])
