"""What models really send: mended where the meaning is clear, refused with one short remedy where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intents import IntentService
from intents.tool import IntentTool
from intents.tool.input import ToolArguments
from tests.agent.conftest import OWNER, RC

Create = Callable[..., dict[str, Any]]
Refused = Callable[..., tuple[str, str]]


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ('["release candidate"]', ["release candidate"]),
        ("['RC']", ["RC"]),
        ("RC", ["RC"]),
        (' ["RC", "release candidate"] ', ["RC", "release candidate"]),
        ("RC\nrelease candidate", ["RC", "release candidate"]),
        (["RC", None, "  ", "RC"], ["RC"]),
        ([["RC"], ["release candidate"]], ["RC", "release candidate"]),
        (['["RC"]'], ["RC"]),
        ([4821, "RC"], ["4821", "RC"]),
        (["release, candidate"], ["release, candidate"]),
        ('"release candidate"', ['"release candidate"']),
        ('"release, candidate"', ['"release, candidate"']),
        ("[RC]", ["[RC]"]),
        ("don't", ["don't"]),
        (("RC",), ["RC"]),
    ],
)
def test_keywords_are_understood_as_a_list(create: Create, sent: object, meant: list[str]) -> None:
    assert create(trigger_keywords=sent)["trigger_keywords"] == meant


@pytest.mark.parametrize("sent", [None, [], "", "null", [None], "[]", [" "]])
def test_no_keywords_are_none(create: Create, refused: Refused, sent: object) -> None:
    assert create(exclude_keywords=sent)["exclude_keywords"] == []
    code, message = refused(RC | {"description": "other", "trigger_keywords": sent})
    assert code == "missing_argument"
    assert "trigger_keywords" in message


@pytest.mark.parametrize("sent", ["RC, release candidate", "RC; release candidate"])
def test_one_text_that_may_mean_and_or_or_is_refused(refused: Refused, sent: str) -> None:
    code, message = refused(RC | {"trigger_keywords": sent})
    assert code == "invalid_arguments"
    assert '["release candidate", "RC"]' in message


@pytest.mark.parametrize("sent", [{"a": 1}, True, [True], [{"keyword": "RC"}], [[[["RC"]]]]])
def test_what_is_no_list_of_texts_is_refused(refused: Refused, sent: object) -> None:
    code, message = refused(RC | {"trigger_keywords": sent})
    assert code == "invalid_arguments"
    assert "trigger_keywords" in message


def test_camel_case_and_spaces_in_names_are_understood(tool: IntentTool) -> None:
    answer = tool.call(
        {
            "Action": "CREATE",
            "Description": "x",
            "triggerKeywords": ["RC"],
            "exclude-keywords": ["draft"],
            "senderScope": " Anyone ",
            "MaxFires": 2,
        }
    )
    assert answer["intent"]["exclude_keywords"] == ["draft"]
    assert answer["intent"]["sender_scope"] == "anyone"
    assert answer["intent"]["max_fires"] == 2


def test_one_argument_twice_is_taken_when_it_says_one_thing(tool: IntentTool, refused: Refused) -> None:
    assert tool.call({**RC, "triggerKeywords": None})["ok"]
    assert tool.call({"triggerKeywords": None, **RC})["ok"]
    assert "twice" in refused({**RC, "triggerKeywords": ["RC"]})[1]


@pytest.mark.parametrize(
    "sent", [json.dumps({"action": "list"}), json.dumps(json.dumps({"action": "list"})), {"action": "List"}]
)
def test_json_text_is_an_object_too(tool: IntentTool, sent: Any) -> None:
    assert tool.call(sent)["action"] == "list"


@pytest.mark.parametrize(
    "sent", ["", "{", "[]", "null", "5", "list", None, 5, ["list"], {}, {"action": None}, {"action": 1}]
)
def test_what_is_no_call_is_told_what_one_is(refused: Refused, sent: Any) -> None:
    code, message = refused(sent)
    assert code == "invalid_arguments"
    assert "list" in message or "text" in message


@pytest.mark.parametrize("absent", [None, "null", "None", "undefined", ""])
def test_spelt_out_nulls_are_nulls(create: Create, absent: str | None) -> None:
    intent = create(
        conversation_id=absent,
        sender_id=absent,
        expires_at=absent,
        max_fires=absent,
        cooldown=absent,
        language=absent,
        within=absent,
        channel_scope=absent,
        sender_scope=absent,
    )
    assert (intent["max_fires"], intent["cooldown"], intent["language"], intent["within"]) == (3, "P1D", "en", None)
    assert (intent["channel_scope"], intent["sender_scope"], intent["sender_id"]) == ("channel", "sender", "U1")


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("24h", "P1D"),
        ("24 hours", "P1D"),
        ("2 weeks", "P14D"),
        ("P1D", "P1D"),
        ("pt36h", "P1DT12H"),
        ("P2W", "P14D"),
        ("1h 30m", "PT1H30M"),
        ("1 day, 2 hours and 5 min", "P1DT2H5M"),
        ("an hour", "PT1H"),
        ("1.5 hours", "PT1H30M"),
        ("３ days", "P3D"),
        ("0", "PT0S"),
        (0, "PT0S"),
        ("0s", "PT0S"),
        ("3 months", "P90D"),
    ],
)
def test_cooldowns(create: Create, sent: object, meant: str) -> None:
    assert create(cooldown=sent)["cooldown"] == meant


@pytest.mark.parametrize(
    "sent", ["24", 24, 1.5, "soon", "-1h", "P", "1h-2h", "1 fortnight", "9" * 400 + "w", "2 years", True, ["1h"]]
)
def test_cooldowns_that_are_none(refused: Refused, sent: object) -> None:
    code, message = refused(RC | {"cooldown": sent})
    assert code == "invalid_arguments"
    assert message.startswith("cooldown ")


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("in 3 days", "2026-07-30T09:00:00Z"),
        ("3 days from now", "2026-07-30T09:00:00Z"),
        ("2 weeks", "2026-08-10T09:00:00Z"),
        ("P1D", "2026-07-28T09:00:00Z"),
        ("2026-12-31T18:00:00Z", "2026-12-31T18:00:00Z"),
        ("2026-12-31t18:00:00z", "2026-12-31T18:00:00Z"),
        ("2026-12-31T18:00+01:00", "2026-12-31T17:00:00Z"),
        ("2026-12-31 18:00 -0800", "2027-01-01T02:00:00Z"),
        ("2026-12-31 18:00 UTC", "2026-12-31T18:00:00Z"),
        ("2026-12-31", "2027-01-01T00:00:00Z"),
        ("2026-12-31+02:00", "2026-12-31T22:00:00Z"),
    ],
)
def test_expiries(create: Create, service: IntentService, sent: str, meant: str) -> None:
    intent = service.get(create(expires_at=sent)["id"])
    assert intent.model_dump(mode="json")["expires_at"] == meant


@pytest.mark.parametrize(
    ("sent", "remedy"),
    [
        ("2026-12-31T18:00", "time zone"),
        ("2026-12-31 18:00:00", "time zone"),
        ("tomorrow", "in 3 days"),
        ("31/12/2026", "in 3 days"),
        ("2026-02-30", "in 3 days"),
        ("never", "in 3 days"),
        ("9999-12-31", "far"),
        ("in 99999 years", "far"),
        ("2020-01-01", "past"),
        ("0s", "past"),
        ("0001-01-01T00:00+14:00", "past"),
        ("9998-01-01T00:00-12:00", "ten years"),
        (1798761600, "text"),
    ],
)
def test_expiries_that_are_none(refused: Refused, sent: object, remedy: str) -> None:
    code, message = refused(RC | {"expires_at": sent})
    assert code == "invalid_arguments"
    assert message.startswith("expires_at")
    assert remedy in message


@pytest.mark.parametrize("sent", [2, "2", " 2 ", 2.0, "2.0"])
def test_whole_numbers(create: Create, sent: object) -> None:
    intent = create(max_fires=sent, within=sent)
    assert (intent["max_fires"], intent["within"]) == (2, 2)


@pytest.mark.parametrize("sent", [0, -1, 1001, 2.5, "many", True, [2], float("inf"), float("nan"), 10**400, "9" * 5000])
@pytest.mark.parametrize("name", ["max_fires", "within"])
def test_numbers_that_are_none(refused: Refused, name: str, sent: object) -> None:
    if (name, sent) == ("within", 1001):
        return
    code, message = refused(RC | {name: sent})
    assert code == "invalid_arguments"
    assert name in message


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"description": None}, "description"),
        ({"description": "  "}, "description"),
        ({"description": "\u200b\u0000"}, "description"),
        ({"description": "x" * 501}, "description"),
        ({"description": ["x"]}, "description"),
        ({"trigger_keywords": ["???"]}, "trigger_keywords"),
        ({"trigger_keywords": ["x" * 121]}, "trigger_keywords"),
        ({"trigger_keywords": [f"word{number}" for number in range(25)]}, "trigger_keywords"),
        ({"exclude_keywords": ["..."]}, "exclude_keywords"),
        ({"channel_scope": "room"}, "channel_scope"),
        ({"sender_scope": "me"}, "sender_scope"),
        ({"channel_scope": "anywhere", "conversation_id": "C9"}, "conversation_id"),
        ({"sender_scope": "anyone", "sender_id": "U9"}, "sender_id"),
        ({"sender_id": "a\x00b"}, "sender_id"),
        ({"sender_id": "x" * 513}, "sender_id"),
        ({"sender_id": 10**400}, "sender_id"),
        ({"conversation_id": True}, "conversation_id"),
        ({"language": "xx"}, "language"),
        ({"language": "ru"}, "language"),
        ({"language": "x" * 10_000}, "language"),
    ],
)
def test_what_breaks_a_rule_names_the_argument(refused: Refused, change: dict[str, Any], word: str) -> None:
    code, message = refused(RC | change)
    assert code in ("invalid_arguments", "missing_argument")
    assert word in message


def test_a_status_that_is_none_is_told_which_there_are(refused: Refused) -> None:
    code, message = refused({"action": "list", "status": "open"})
    assert code == "invalid_arguments"
    assert "'live'" in message


def test_an_id_may_look_like_a_number(create: Create) -> None:
    assert create(sender_id=42)["sender_id"] == "42"


def test_a_tag_of_a_language_counts_as_its_language(create: Create) -> None:
    assert create(language="de-CH")["language"] == "de"


def test_very_long_arguments_are_refused_quickly(refused: Refused) -> None:
    assert refused(RC | {"x" * 1_000_000: 1})[0] == "unknown_argument"
    assert refused(RC | {"cooldown": "1h " * 300_000})[0] == "invalid_arguments"
    assert refused(RC | {"trigger_keywords": "[" * 100_000})[0] == "invalid_arguments"
    assert refused("[" * 100_000)[0] == "invalid_arguments"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["RC", "24h", "null"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
NAMES = st.sampled_from([*ToolArguments.model_fields, "triggerKeywords", "maxFires", "owner", "agent_id"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    action=st.sampled_from(["create", "list", "cancel"]) | VALUES,
    arguments=st.dictionaries(NAMES | st.text(max_size=12), VALUES, max_size=8) | VALUES,
)
def test_no_input_makes_it_raise_or_changes_whose_intents_they_are(
    tool: IntentTool, service: IntentService, action: object, arguments: object
) -> None:
    sent: Any = {**RC, **arguments, "action": action} if isinstance(arguments, dict) else arguments
    answer = tool.call(sent)
    json.dumps(answer, allow_nan=False)
    assert answer["ok"] or set(answer["error"]) == {"code", "message"}
    assert all(intent.creator == OWNER for intent in service.list(limit=1000))
