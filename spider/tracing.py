"""agentlightning's tracer, made cheap enough for 60 rollouts a second.

    runner = agentlightning.LitAgentRunner(RolloutTracer())

One span a rollout, one a node of the graph, and one a call of a model (`spider.chat_endpoint`), as AgentOps has them.
"""

from __future__ import annotations

import gc
import json
import logging
from contextvars import Token

import agentlightning as agl
import agentops
from agentlightning.tracer.otel import LightningSpanProcessor
from agentlightning.utils.otel import get_span_processors
from agentops.integration.callbacks.langchain import LangchainCallbackHandler
from opentelemetry import context, trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import ReadableSpan

logger = logging.getLogger(__name__)
tracer = trace.get_tracer(__name__)


class RolloutSpanProcessor(LightningSpanProcessor):
    """Hands a rollout's spans to a store in this process together, when the rollout ends.

    One by one, each waits for its turn in another thread: that is a fifth of a rollout.
    """

    def __init__(self) -> None:
        """Nothing is kept yet."""
        super().__init__()
        self._ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Keep a span that has ended inside a rollout; a store behind a server gets its spans from their exporter."""
        if self._store is None or self._disable_store_submission:
            super().on_end(span)
        elif span.context and span.context.trace_flags.sampled:
            self._ended.append(span)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Hand over what has ended; AgentOps asks for it at the end of a rollout, before its outcome is known."""
        store, rollout_id, attempt_id = self._store, self._rollout_id, self._attempt_id
        ended, self._ended = self._ended, []
        if not ended or not store or not rollout_id or not attempt_id:
            return True

        async def add() -> None:
            numbers = await store.get_many_span_sequence_ids([(rollout_id, attempt_id)] * len(ended))
            spans = [
                agl.Span.from_opentelemetry(span, rollout_id, attempt_id, number)
                for span, number in zip(ended, numbers, strict=True)
            ]
            self._spans.extend(await store.add_many_spans(spans))

        try:
            with suppress_instrumentation():
                self._await_in_loop(add(), timeout=timeout_millis / 1000)
        except Exception:
            logger.exception("%d spans of %s are lost: the store doesn't take them", len(ended), rollout_id)
            return False
        return True


class NodeSpans(LangchainCallbackHandler):
    """Makes a span of every node that LangGraph runs, with its name where agentlightning's adapters look for it.

    Messages are left out of it: the calls' own spans hold them.
    """

    def __init__(self) -> None:
        """Without AgentOps' session, which is a span more in every rollout."""
        super().__init__(auto_session=False)
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
    return json.dumps({name: value for name, value in fields.items() if name != "messages"}, default=str)


class RolloutTracer(agl.AgentOpsTracer):
    """AgentOps' tracer without the libraries' own instrumentation, which the agent doesn't need.

    The parent has AgentOps look at every import statement that is run, for libraries to instrument: a seventh of a
    rollout's time.
    """

    def get_langchain_handler(self, tags: list[str] | None = None) -> NodeSpans:
        """The handler that a graph is run with."""
        return NodeSpans()

    def _initialize_tracer_provider(self, worker_id: int) -> None:
        self.instrument(worker_id)
        if not agentops.get_client().initialized:
            agentops.init(api_key="none", auto_start_session=False, instrument_llm_calls=False)
            gc.freeze()  # what the libraries have made, a million objects, need not be searched again and again
        provider = self._get_tracer_provider()
        present = get_span_processors(provider, RolloutSpanProcessor)
        self._lightning_span_processor = present[0] if present else RolloutSpanProcessor()
        if not present:
            provider.add_span_processor(self._lightning_span_processor)
