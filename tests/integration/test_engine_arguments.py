"""The engine's arguments as read from vLLM's source are those that its class has."""

import dataclasses

from spider.verl_bridge.verl_config import engine_arguments


def test_arguments_read_from_the_source_are_the_fields_of_vllms_class() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    assert engine_arguments() == {field.name for field in dataclasses.fields(AsyncEngineArgs)}
