"""What a schema gives up, and in which order, when it is longer than its limit."""

import re

from hypothesis import given
from hypothesis import strategies as st

from spider.schema_text import Column, ForeignKey, Table, render
from tests.timing import within


def wide() -> list[Table]:
    """Three tables and a view; the orders know the customers."""
    samples = ("'some value'", "'another one'", "'a third'")
    names = {"customer": ("id", "name"), "orders": ("id", "customer_id", "total"), "plane": ("id", "wing", "engine")}
    keys = {"orders": (ForeignKey(("customer_id",), "customer", ("id",)),)}
    tables = [
        Table(name, tuple(Column(c, "TEXT", samples) for c in columns), ("id",), keys.get(name, ()))
        for name, columns in names.items()
    ]
    return [*tables, Table("big_spenders", (Column("name", "TEXT", samples),), is_view=True)]


FULL = len(render(wide(), "", 10**6))


def test_samples_are_given_up_first() -> None:
    text = render(wide(), "", FULL - 1)
    assert "'some value', 'another one'\n" in text
    assert "'a third'" not in text
    assert "big_spenders" in text


def test_views_are_given_up_before_tables() -> None:
    bare = render(wide(), "", 320)
    text = render(wide(), "", len(bare) - 1)
    assert "--" not in bare
    assert "CREATE VIEW" in bare
    assert "CREATE VIEW" not in text
    assert text.endswith("-- Left out: big_spenders")
    assert text.count("CREATE TABLE") == 3


def test_the_table_least_related_to_the_question_goes_next() -> None:
    text = render(wide(), "What is the total of each customer's orders?", 200)
    assert "CREATE TABLE customer" in text
    assert "CREATE TABLE orders" in text
    assert text.endswith("-- Left out: plane, big_spenders")


def test_a_related_table_stays_whatever_its_place() -> None:
    text = render(wide(), "How many wings does a plane have?", 120)
    assert "CREATE TABLE plane" in text
    assert "customer, orders" in text.splitlines()[-1]


def test_a_single_wide_table_gives_up_columns_but_not_keys() -> None:
    columns = tuple(Column(f"column_{n}", "TEXT") for n in range(50))
    text = render([Table("t", columns, ("column_49",))], "What is column_7?", 120)
    assert "column_49 TEXT PRIMARY KEY" in text
    assert "-- Left out: " in text
    assert text.endswith(" columns of t")


@given(
    st.lists(
        st.builds(
            Table,
            st.text(min_size=1, max_size=12),
            st.lists(st.builds(Column, st.text(max_size=20), st.sampled_from(["", "TEXT"])), max_size=6).map(tuple),
            is_view=st.booleans(),
        ),
        max_size=6,
    ),
    st.text(max_size=40),
    st.integers(0, 400),
)
def test_no_schema_is_longer_than_its_limit_or_cut_within_a_line(
    tables: list[Table], question: str, limit: int
) -> None:
    text = render(tables, question, limit)
    assert len(text) <= limit
    whole = render(tables, question, 10**9)
    for line in text.split("\n"):
        assert line.startswith("-- Left out: ") or line in ("", ");") or line.rstrip(",") in whole


def test_of_hundreds_of_tables_those_that_matter_are_shown() -> None:
    tables = [Table(f"customer_table_{number}", (Column("id", "INT"), Column("x", "TEXT"))) for number in range(300)]
    tables.append(Table("invoice", (Column("id", "INT"), Column("total", "REAL"))))
    text = render(tables, "What is the total of all invoices?")
    assert "CREATE TABLE invoice (" in text
    assert re.search(r"-- Left out: customer_table_\d+, .* and \d+ more$", text)
    assert 1800 < len(text) <= 2048


def test_the_schema_of_a_table_with_thousands_of_columns_takes_under_a_second() -> None:
    wide = Table("wide", tuple(Column(f"column_{number}", "INT", ("1", "2")) for number in range(2000)))

    def show() -> None:
        text = render([wide, Table("other", ())], "What is column 1900?")
        assert "column_1900 INT" in text
        assert 1800 < len(text) <= 2048

    assert within(1, show)
