import contextlib
import sqlite3
from pathlib import Path

import pytest

from spider.database import Execution, open_database
from spider.outcomes import OUTCOMES, outcome

# Messages as the servers word them; SQLite's come from SQLite itself below.
SERVERS = {
    'Error: column "nmae" does not exist': "error:no_such_column",
    'Error: relation "pets" does not exist': "error:no_such_table",
    'Error: syntax error at or near "FORM"': "error:syntax",
    'Error: column reference "id" is ambiguous': "error:ambiguous_column",
    'Error: column "pet.name" must appear in the GROUP BY clause': "error:aggregate",
    "Error: Unknown column 'nmae' in 'field list'": "error:no_such_column",
    "Error: Table 'shop.pets' doesn't exist": "error:no_such_table",
    "Error: You have an error in your SQL syntax; check the manual": "error:syntax",
    "Error: The used SELECT statements have a different number of columns": "error:columns_differ",
    "Error: disk I/O error": "error:other",
}


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pets") / "pets.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE pet (id INTEGER, name TEXT); INSERT INTO pet VALUES (1, 'Rex')")
    return path


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT name FROM pet", "rows"),
        ("SELECT name FROM pet WHERE id = 2", "no_rows"),
        (" ", "empty_query"),
        ("DROP TABLE pet", "refused"),
        ("SELECT nmae FROM pet", "error:no_such_column"),
        ("SELECT name FROM pets", "error:no_such_table"),
        ("SELECT name FORM pet WHERE", "error:syntax"),
        ("SELECT a.id FROM pet a JOIN pet b WHERE id = 1", "error:ambiguous_column"),
        ("SELECT nope(id) FROM pet", "error:no_such_function"),
        ("SELECT name FROM pet WHERE count(*) > 1", "error:aggregate"),
        ("SELECT round(id, 1, 2) FROM pet", "error:arguments"),
        ("SELECT id FROM pet UNION SELECT id, name FROM pet", "error:columns_differ"),
    ],
)
def test_a_query_over_sqlite_has_the_outcome_that_sqlite_names(pets: Path, sql: str, expected: str) -> None:
    assert outcome(open_database(pets).execute(sql)) == expected
    assert expected in OUTCOMES


@pytest.mark.parametrize("text", SERVERS)
def test_the_servers_words_for_a_mistake_give_the_same_outcome(text: str) -> None:
    assert outcome(Execution("error", text)) == SERVERS[text]


def test_a_timeout_is_one_whatever_its_text() -> None:
    assert outcome(Execution("timeout", "no such column")) == "timeout"
