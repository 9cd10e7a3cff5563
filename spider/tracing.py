"""A tracer for agentlightning's runner, cheap enough for 60 rollouts a second.

    runner = agentlightning.LitAgentRunner(RolloutTracer())

One span a rollout, one a node of the graph, and one a call of a model (`spider.chat_endpoint`), as agentlightning's
AgentOps tracer has them. They go to the store together when the rollout ends.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from contextvars import Token
from functools import lru_cache

import agentlightning as agl
import urllib3
from agentlightning.semconv import LightningResourceAttributes
from agentlightning.tracer.base import with_active_tracer_context
from agentlightning.types.tracer import Event, Link, OtelResource, TraceStatus, convert_timestamp
from agentlightning.utils.otel import get_span_processors
from langchain_core.callbacks import BaseCallbackHandler
from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from spider.packed_token_ids import pack
from spider.quick_json import dumps

POST_SECONDS = 60.0  # for a rollout's spans to reach the driver

logger = logging.getLogger(__name__)
tracer = trace.get_tracer(__name__)


class EndedSpans(SpanProcessor):
    """Keeps the spans that have ended since they were last taken."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Keep a span."""
        if span.context and span.context.trace_flags.sampled:
            self._spans.append(span)

    def take(self) -> list[ReadableSpan]:
        """The spans kept, which then are no more."""
        spans, self._spans = self._spans, []
        return spans


class NodeSpans(BaseCallbackHandler):
    """Makes a span of every node that LangGraph runs, with its name where agentlightning's adapters look for it.

    Messages are left out of it: the calls' own spans hold them.
    """

    def __init__(self) -> None:
        """No node is running."""
        self.open: dict[object, tuple[trace.Span, Token[context.Context]]] = {}

    def on_chain_start(self, serialized: dict[str, object] | None, inputs: object, **kwargs: object) -> None:
        """Open the span and make it the current one, so that the calls inside become its children."""
        attributes = {
            "langchain.chain.type": str(kwargs.get("name")),
            "agentops.span.kind": "chain",
            "chain.inputs": _shown(inputs),
        }
        span = tracer.start_span("chain.chain", attributes=attributes)
        self.open[kwargs["run_id"]] = span, context.attach(trace.set_span_in_context(span))

    def on_chain_end(self, outputs: object, **kwargs: object) -> None:
        """Close the span."""
        span, token = self.open.pop(kwargs["run_id"])
        context.detach(token)
        span.set_attribute("chain.outputs", _shown(outputs))
        span.end()

    def on_chain_error(self, error: BaseException, **kwargs: object) -> None:
        """Close the span of a node that failed."""
        span, token = self.open.pop(kwargs["run_id"])
        context.detach(token)
        span.record_exception(error)
        span.set_status(trace.StatusCode.ERROR, str(error))
        span.end()


def _shown(values: object) -> str:
    """A node's input or output as JSON, without messages."""
    update = getattr(values, "update", None)  # of LangGraph's `Command`
    fields = values if isinstance(values, dict) else update if isinstance(update, dict) else {}
    return dumps({name: value for name, value in fields.items() if name != "messages"}, default=str)


class RolloutTracer(agl.OtelTracer):
    """Spans of rollouts, handed to the store in one go.

    agentlightning's own tracers hand over each span on its own, from another thread or by a request of its own.
    """

    def __init__(self, packs_token_ids: bool = False) -> None:
        """Nothing is set up yet, so the tracer can be sent to other processes.

        With `packs_token_ids` they go as text to a store behind a server, which must be a `WaitingStore`.
        """
        super().__init__()
        self._packs_token_ids = packs_token_ids
        self._ended: EndedSpans | None = None
        self._last: Sequence[agl.Span] = []

    def get_langchain_handler(self) -> NodeSpans:
        """The handler that a graph is run with."""
        return NodeSpans()

    @with_active_tracer_context
    @asynccontextmanager
    async def trace_context(
        self,
        name: str | None = None,
        *,
        store: agl.LightningStore | None = None,
        rollout_id: str | None = None,
        attempt_id: str | None = None,
    ) -> AsyncGenerator[trace.Tracer, None]:
        """A span around a rollout; at its end, all spans go to the store under `rollout_id` and `attempt_id`.

        Without these they only stay here, for `get_last_trace`.
        """
        store = store or self._store
        if self._ended is None:
            raise RuntimeError("the tracer isn't set up: init_worker() comes first")
        self._ended.take()  # what ended outside a rollout
        try:
            with tracer.start_as_current_span(f"{name or rollout_id}.session"):
                yield tracer
        finally:
            ended = self._ended.take()
            try:
                if store and rollout_id and attempt_id:
                    self._last = await self._hand_over(ended, store, (rollout_id, attempt_id))
                else:
                    self._last = _spans(ended, "rollout-dummy", "attempt-dummy", range(len(ended)))
            except Exception:
                logger.exception("%d spans of %s are lost: the store doesn't take them", len(ended), rollout_id)

    def get_last_trace(self) -> list[agl.Span]:
        """The spans of the latest rollout."""
        return list(self._last)

    async def _hand_over(
        self, ended: Sequence[ReadableSpan], store: agl.LightningStore, attempt: tuple[str, str]
    ) -> list[agl.Span]:
        """Give the spans to the store; to one behind a server in a single request."""
        if store.capabilities.get("otlp_traces"):
            sent = [pack(span) for span in ended] if self._packs_token_ids else ended
            _post(sent, store.otlp_traces_endpoint(), attempt)
            return _spans(ended, *attempt, range(len(ended)))  # the server gives its own numbers
        spans = _spans(ended, *attempt, await store.get_many_span_sequence_ids([attempt] * len(ended)))
        return list(await store.add_many_spans(spans))

    def _initialize_tracer_provider(self, worker_id: int) -> None:
        provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            provider = TracerProvider()
            trace.set_tracer_provider(provider)
            gc.freeze()  # what the libraries have made, a million objects, need not be searched again and again
        self._tracer_provider = provider
        present = get_span_processors(provider, EndedSpans)
        self._ended = present[0] if present else EndedSpans()
        if not present:
            provider.add_span_processor(self._ended)


def _post(ended: Sequence[ReadableSpan], endpoint: str, attempt: tuple[str, str]) -> None:
    request = encode_spans(ended)
    names = (LightningResourceAttributes.ROLLOUT_ID.value, LightningResourceAttributes.ATTEMPT_ID.value)
    for group in request.resource_spans:
        group.resource.attributes.extend(
            KeyValue(key=name, value=AnyValue(string_value=value)) for name, value in zip(names, attempt, strict=True)
        )
    headers = {"Content-Type": "application/x-protobuf"}
    response = _connections().request(
        "POST", endpoint, body=request.SerializeToString(), headers=headers, timeout=POST_SECONDS
    )
    if response.status != 200:
        raise RuntimeError(f"HTTP {response.status} {response.reason}")


@lru_cache(maxsize=1)
def _connections() -> urllib3.PoolManager:
    return urllib3.PoolManager()


# A forked process must not talk over its parent's connections.
os.register_at_fork(after_in_child=_connections.cache_clear)


def _spans(ended: Sequence[ReadableSpan], rollout_id: str, attempt_id: str, numbers: Sequence[int]) -> list[agl.Span]:
    """The spans as agentlightning has them.

    Nothing is checked: OpenTelemetry has seen to the types, and agentlightning's own conversion looks at every token id
    several times, which takes longer than a call of a model that answers at once.
    """
    resource = OtelResource.from_opentelemetry(ended[0].resource) if ended else None
    return [
        agl.Span.model_construct(
            rollout_id=rollout_id,
            attempt_id=attempt_id,
            sequence_id=number,
            trace_id=trace.format_trace_id(span.context.trace_id),
            span_id=trace.format_span_id(span.context.span_id),
            parent_id=trace.format_span_id(span.parent.span_id) if span.parent else None,
            name=span.name,
            status=TraceStatus(status_code=span.status.status_code.name, description=span.status.description),
            attributes=dict(span.attributes or {}),
            events=[Event.from_opentelemetry(event) for event in span.events],
            links=[Link.from_opentelemetry(link) for link in span.links],
            start_time=convert_timestamp(span.start_time),
            end_time=convert_timestamp(span.end_time),
            context=None,
            parent=None,
            resource=resource,
        )
        for span, number in zip(ended, numbers, strict=True)
        if span.context
    ]
