"""The published schema is strict, whatever the tool forgives."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from intents.tool import IntentTool
from intents.tool.input import ToolArguments


def test_it_is_one_closed_flat_object_whose_properties_are_all_required(tool: IntentTool) -> None:
    schema = tool.json_schema
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])
    assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(schema)


def kinds(property_schema: dict[str, Any]) -> set[str]:
    return {part["type"] for part in property_schema.get("anyOf", [property_schema])}


def test_everything_but_the_action_may_be_null(tool: IntentTool) -> None:
    properties = tool.json_schema["properties"]
    assert properties["action"]["enum"] == ["create", "list", "cancel"]
    assert kinds(properties["action"]) == {"string"}
    for name, schema in properties.items():
        if name != "action":
            assert "null" in kinds(schema), name
            assert "default" not in schema, name


def test_every_property_is_described(tool: IntentTool) -> None:
    for name, schema in tool.json_schema["properties"].items():
        assert schema["description"].endswith((".", "live ones.")), name


def test_lists_are_lists_of_text_and_numbers_are_integers(tool: IntentTool) -> None:
    properties = tool.json_schema["properties"]
    for name in ("trigger_keywords", "exclude_keywords"):
        (items,) = [part["items"] for part in properties[name]["anyOf"] if part["type"] == "array"]
        assert items == {"type": "string"}
    for name in ("max_fires", "within"):
        assert kinds(properties[name]) == {"integer", "null"}


def test_the_languages_are_those_of_the_service(tool: IntentTool) -> None:
    language = tool.json_schema["properties"]["language"]
    assert language["anyOf"][0]["enum"] == ["en", "de", "fr", "zh", "und"]


def test_nobody_can_spoil_it(tool: IntentTool) -> None:
    tool.json_schema["properties"].clear()
    assert tool.json_schema["properties"]


@pytest.mark.parametrize(
    "change",
    [
        {"owner": "U2"},
        {"action": "delete"},
        {"trigger_keywords": "RC"},
        {"max_fires": "3"},
        {"channel_scope": "room"},
        {"status": "gone"},
    ],
)
def test_the_model_behind_it_forgives_nothing(change: dict[str, Any]) -> None:
    arguments = dict.fromkeys(ToolArguments.model_fields) | {"action": "list"}
    assert ToolArguments.model_validate(arguments).action == "list"
    with pytest.raises(ValidationError):
        ToolArguments.model_validate(arguments | change)
