"""JSON by orjson means what it means by Python's own module."""

import json
import math

import pytest

from spider.quick_json import dumps, loads


@pytest.mark.parametrize(
    "value",
    [
        {"logprob": -0.25, "bytes": [104], "top_logprobs": []},
        [None, True, 1.5, "null", "caffè ☕"],
        {1: "a", None: "b"},
        -math.inf,
        ["\ud83d"],
    ],
)
def test_what_is_written_reads_the_same_by_either_module(value: object) -> None:
    assert json.loads(dumps(value)) == json.loads(json.dumps(value))
    assert loads(json.dumps(value)) == json.loads(json.dumps(value))


def test_not_a_number_stays_one() -> None:
    assert math.isnan(json.loads(dumps([math.nan]))[0])
    assert str(loads(b'{"logprob": NaN}')) == "{'logprob': nan}"


def test_other_objects_are_written_by_default() -> None:
    assert json.loads(dumps({"at": {1}}, default=str)) == {"at": "{1}"}
    with pytest.raises(TypeError):
        dumps({1, 2})


@pytest.mark.parametrize("text", [b"", b"<html>", b'{"a": 1', b"\xff", "nul"])
def test_what_is_not_json_is_an_error(text: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|can't decode"):
        loads(text)
