"""Token ids on the way from a runner to the driver."""

from collections.abc import Mapping

import agentlightning as agl
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.util.types import AttributeValue

from spider.packed_token_ids import pack, unpack

ATTRIBUTES: Mapping[str, AttributeValue] = {"prompt_token_ids": (1, 2), "response_token_ids": (3,), "name": "x"}


def test_a_spans_token_ids_are_packed_as_text() -> None:
    packed = {"prompt_token_ids.json": "[1, 2]", "response_token_ids.json": "[3]", "name": "x"}
    assert pack(ReadableSpan("call", attributes=ATTRIBUTES)).attributes == packed


def test_a_span_without_token_ids_stays_as_it_is() -> None:
    span = ReadableSpan("node", attributes={"name": "x"})
    assert pack(span) is span


@pytest.mark.parametrize("attributes", [ATTRIBUTES, {"name": "x"}])
def test_unpacking_gives_back_what_was_packed(attributes: Mapping[str, AttributeValue]) -> None:
    packed = pack(ReadableSpan("call", attributes=attributes)).attributes
    span = agl.Span.model_construct(attributes=dict(packed or {}))
    unpack([span])
    assert span.attributes == {
        name: list(value) if isinstance(value, tuple) else value for name, value in attributes.items()
    }
