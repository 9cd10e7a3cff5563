"""What the agent asks the model, and how it reads the replies.

All three prompts open with the same system line, schema and question, so a server with a prefix cache computes that
part once for a question's whole group of rollouts and all their turns. The task comes last, next to the reply.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CORRECT = "THE QUERY IS CORRECT."
INCORRECT = "THE QUERY IS INCORRECT."
NO_QUERY_FEEDBACK = "The reply held no SQL query. Give one query in a fenced sql block."

Reply = str | Sequence[str | Mapping[str, object]]
"""A chat message's content: plain text, or a list of parts."""


@dataclass(frozen=True)
class Templates:
    """The instructions of the prompts; ``{dialect}`` in them becomes the database's. Their frame is fixed.

    Raises:
        ValueError: an instruction is empty, or `check` doesn't name both verdicts.
    """

    system: str = "You are a careful {dialect} analyst."
    write: str = (
        "Write one {dialect} query that answers the question. Use only the tables and columns shown. "
        "Reply with the query alone, fenced by ```sql and ```."
    )
    check: str = (
        "Does the query answer the question? Common mistakes: NOT IN with NULL; UNION in place of UNION ALL; BETWEEN "
        "for an exclusive range; mismatched types in predicates; identifiers not quoted; a wrong number of arguments; "
        "a cast to the wrong type; joins on the wrong columns; execution failed; an unreasonable result. "
        "Name the mistakes you find in one line each, then end with " + CORRECT + " or " + INCORRECT
    )
    rewrite: str = (
        "Write a better {dialect} query that answers the question and mends these mistakes. Use only the tables and "
        "columns shown. Reply with the query alone, fenced by ```sql and ```."
    )

    def __post_init__(self) -> None:
        """Check the instructions."""
        for name, text in vars(self).items():
            if not text.strip():
                raise ValueError(f"the template {name} is empty")
        for verdict in (CORRECT, INCORRECT):
            if verdict.rstrip(".") not in self.check:
                raise ValueError(f"the template check must ask for the verdict {verdict!r}")


DEFAULT_TEMPLATES = Templates()

_STATEMENT = (
    r"(?:SELECT|WITH|VALUES|EXPLAIN|INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|ATTACH|DETACH|PRAGMA|BEGIN|COMMIT"
    r"|ROLLBACK|VACUUM|REINDEX|ANALYZE|TRUNCATE|GRANT|SHOW|DESCRIBE)\b"
)
_COMMENT = r"(?:--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)"
_STARTS_STATEMENT = re.compile(rf"(?:\s|\(|{_COMMENT})*+{_STATEMENT}", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\w+\s*(?:\.{2,}|…|<[^>]*>|\[[^\]]*\])?\s*;?", re.DOTALL)
_FENCE = re.compile(r"`{3,}|~{3,}")
_CLOSING = re.compile(r"\n[ \t]*(?:`{3,}|~{3,})$|\*\*$")  # a fence too short to close its block, or bold type
_TAG = re.compile(r"[ \t]*[\w+#.-]+")
_BARE = re.compile(r"(?:SELECT\b|WITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*(?:\([^)]*\)\s*)?AS\b|VALUES\s*\()")
_BARE_ANY_CASE = re.compile(rf"(?im)(?:^[ \t>*-]*|:\s*|`)({_BARE.pattern})")
_SENTENCE_LINE = re.compile(r"[A-Z][a-z']+ [\w'`\",-]+ .*[.:!?]$|[A-Z][a-z]+:")
_PROSE_AFTER = re.compile(rf"(?m)\n[ \t]*\n(?={_SENTENCE_LINE.pattern})")
_QUOTED = re.compile(r"'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|\[[^\]\n]*\]")
_CLAUSE = re.compile(  # a line that goes on with a query, and isn't a sentence about it
    r"(?:FROM|(?:(?:NATURAL|LEFT|RIGHT|FULL|INNER|OUTER|CROSS)\s+)*JOIN|WHERE|GROUP\s+BY|HAVING|ORDER\s+BY|LIMIT|UNION"
    r"|INTERSECT|EXCEPT)\b.*(?<![.:!?])$",
    re.MULTILINE,
)
_VERDICT = re.compile(r"\bthe query is (in)?correct\b", re.IGNORECASE)
_MARKUP = re.compile(r"</?[A-Za-z]+(?:\s+[\w-]+=(?:\"[^\"\n]*\"|[^\s<>]+))*/?>|[*`~#<>\\\"'\u2018\u2019\u201c\u201d]")


def write_messages(
    question: str, schema: str, dialect: str = "SQLite", templates: Templates = DEFAULT_TEMPLATES
) -> list[dict[str, str]]:
    """The first turn: chat messages that ask for a query."""
    return _messages(question, schema, dialect, templates, templates.write)


def check_messages(
    question: str,
    schema: str,
    query: str,
    execution: str,
    dialect: str = "SQLite",
    templates: Templates = DEFAULT_TEMPLATES,
) -> list[dict[str, str]]:
    """The checker's turn: `execution` is `Execution.text`. The reply ends with one of the two verdicts."""
    return _messages(question, schema, dialect, templates, templates.check, _attempt(query, execution))


def rewrite_messages(
    question: str,
    schema: str,
    query: str,
    execution: str,
    feedback: str,
    dialect: str = "SQLite",
    templates: Templates = DEFAULT_TEMPLATES,
) -> list[dict[str, str]]:
    """A later turn: asks for a better query, given the last one, its result and the checker's feedback."""
    before = f"{_attempt(query, execution)}Feedback:\n{feedback}\n\n"
    return _messages(question, schema, dialect, templates, templates.rewrite, before)


def cut_lines(text: str, max_chars: int) -> str:
    """`text` in at most `max_chars` characters: whole lines where one fits, with a last line that says it was cut."""
    if len(text) <= max_chars:
        return text
    mark = "(cut)"
    kept = text[: max(max_chars - len(mark) - 1, 0)]
    lines = kept.rpartition("\n")[0] or kept
    return f"{lines}\n{mark}"


def format_query(sql: str) -> str:
    """The reply the model is asked for: `sql` in one fenced block, with a fence longer than any inside it."""
    inside = max((len(fence) for fence in re.findall(r"`{3,}", sql)), default=2)
    fence = "`" * (inside + 1)
    return f"{fence}sql\n{sql}\n{fence}"


def reply_text(reply: Reply) -> str:
    """The text of a reply, with its parts joined and a reasoning model's thoughts left out."""
    if isinstance(reply, str):
        text = reply
    else:
        text = "".join(part if isinstance(part, str) else _part_text(part) for part in reply)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.rpartition("</think>")[2]


def extract_query(reply: Reply) -> str:
    """The SQL of a reply: its last fenced block that holds a statement, else its last bare SELECT, else ``""``.

    A closing semicolon is dropped. Nothing is raised, whatever the reply is.
    """
    text = reply_text(reply)
    blocks, prose = _split_fences(text)
    for block in reversed(blocks):
        statement = _without_tag(block)
        if query := _clean(statement) if statement else _bare_query(block):
            return query
    return _bare_query(prose)


def is_correct(reply: Reply) -> bool:
    """Whether the checker's last verdict is `CORRECT`; a reply without a verdict is not."""
    return verdict(reply) is True


def verdict(reply: Reply) -> bool | None:
    """The checker's last verdict, whether the query is correct; None where the reply has none."""
    text = _MARKUP.sub("", reply_text(reply)).replace("_", " ")
    verdicts = _VERDICT.findall(" ".join(text.split()))
    return verdicts[-1] == "" if verdicts else None


def _messages(
    question: str, schema: str, dialect: str, templates: Templates, task: str, before: str = ""
) -> list[dict[str, str]]:
    instruction = task.replace("{dialect}", dialect)
    return [
        {"role": "system", "content": templates.system.replace("{dialect}", dialect)},
        {"role": "user", "content": f"{schema}\n\nQuestion: {question}\n\n{before}{instruction}"},
    ]


def _attempt(query: str, execution: str) -> str:
    return f"Query:\n{format_query(query)}\n\nResult:\n{execution}\n\n"


def _part_text(part: Mapping[str, object]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) and part.get("type", "text") in ("text", "output_text") else ""


def _split_fences(text: str) -> tuple[list[str], str]:
    """Contents of the fenced blocks, tags included, and the prose around them.

    A fence that is never closed runs to the next opening, a blank line with a sentence after it, or the end.
    """
    blocks: list[str] = []
    prose: list[str] = []
    position, opening = 0, ""
    for fence in _FENCE.finditer(text):
        if opening and (fence.group()[0] != opening[0] or len(fence.group()) < len(opening)):
            continue
        (blocks if opening else prose).append(text[position : fence.start()])
        line_start = text.rfind("\n", 0, fence.start()) + 1
        # A fence that opens a line and carries a tag can't be a close: the one before it was left open.
        tagged = not text[line_start : fence.start()].strip() and _TAG.match(text, fence.end())
        opening = fence.group() if tagged or not opening else ""
        position = fence.end()
    rest = text[position:]
    (blocks if opening else prose).append(_PROSE_AFTER.split(rest, maxsplit=1)[0] if opening else rest)
    return blocks, "\n\n".join(prose)


def _without_tag(block: str) -> str:
    """The block's text without the language tag that may open it, on its own line or not."""
    if _STARTS_STATEMENT.match(block):
        return block
    tag = _TAG.match(block.lstrip())
    rest = block.lstrip()[tag.end() :] if tag else ""
    return rest if _STARTS_STATEMENT.match(rest) else ""


def _clean(sql: str) -> str:
    """`sql` without blanks and semicolons around it, or ``""`` for a template's placeholder."""
    sql = _CLOSING.sub("", sql.strip()).rstrip("; \t\n")
    return "" if _PLACEHOLDER.fullmatch(sql) else sql


def _bare_query(text: str) -> str:
    """The last query that stands in prose without a fence."""
    query = ""
    start = _next_bare(text, 0)
    while start >= 0:
        end = _end_of_query(text, start, inline=text[max(start - 1, 0) : start] == "`")
        query = _clean(text[start:end]) or query
        start = _next_bare(text, max(end, start + 1))
    return query


def _next_bare(text: str, position: int) -> int:
    """Where the next bare query starts: in capitals anywhere, in any case where a line, colon or backtick opens it."""
    capitals, opened = _BARE.search(text, position), _BARE_ANY_CASE.search(text, position)
    starts = ([capitals.start()] if capitals else []) + ([opened.start(1)] if opened else [])
    return min(starts, default=-1)


def _end_of_query(text: str, start: int, inline: bool) -> int:
    """Where the bare query at `start` ends: semicolon, blank line, closing backtick or the prose after it."""
    position = start
    while position < len(text):
        if quoted := _QUOTED.match(text, position):
            position = quoted.end()
            continue
        char = text[position]
        rest = text[position + 1 : position + 4]
        if char == ";" or (inline and char == "`"):
            return position
        if char == "." and (not rest.strip() or re.match(r"\s[A-Z][a-z]", rest)):
            return position
        if char == "\n":
            line = text[position + 1 :].partition("\n")[0].strip()
            following = text[position:].lstrip()
            if (not line and not _CLAUSE.match(following)) or _SENTENCE_LINE.match(line):
                return position
        position += 1
    return len(text)
