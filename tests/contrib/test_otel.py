"""OpenTelemetry, with the SDK's exporters in memory."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session, sessionmaker

from intents import (
    AsyncIntentService,
    IntentService,
    InvalidIntent,
    Invocation,
    NotAuthorized,
    PromptHook,
    Turn,
    __version__,
)
from intents.contrib.otel import instrument
from intents.testing import FrozenClock, make_draft
from intents.tool import IntentTool
from tests.contrib.conftest import LIMITS, OWNERS
from tests.contrib.conversation import LATER, OTHER, OWNER, REMINDER, arm, turn

Points = dict[tuple[str, ...], Any]


class Telemetry:
    """Everything that was told."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(shutdown_on_exit=False)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self._reader], shutdown_on_exit=False)

    def instrument(self, service: Any, **options: Any) -> Any:
        return instrument(service, tracer_provider=self.tracer_provider, meter_provider=self.meter_provider, **options)

    def spans(self) -> list[ReadableSpan]:
        spans = list(self._spans.get_finished_spans())
        self._spans.clear()
        return spans

    def metrics(self) -> dict[str, Points]:
        """Values (of histograms: counts) by metric and attribute values."""
        data = self._reader.get_metrics_data()
        return {
            metric.name.removeprefix("standing_intents."): {
                tuple(str(value) for _, value in sorted(point.attributes.items())): getattr(
                    point, "value", getattr(point, "count", None)
                )
                for point in metric.data.data_points
            }
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def everything(self) -> str:
        data = self._reader.get_metrics_data()
        return "".join(span.to_json() for span in self._spans.get_finished_spans()) + (data.to_json() if data else "")

    def close(self) -> None:
        self.tracer_provider.shutdown()
        self.meter_provider.shutdown()


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    telemetry = Telemetry()
    yield telemetry
    telemetry.close()


class Awaited:
    """An instrumented service of either kind, called the same way."""

    def __init__(self, service: Any) -> None:
        self.service = service

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            result = getattr(self.service, name)(*args, **named)
            return asyncio.run(result) if asyncio.iscoroutine(result) else result

        return call


@pytest.fixture
def told(service: Any, telemetry: Telemetry) -> Any:
    """The instrumented service."""
    return Awaited(telemetry.instrument(service))


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("standing_intents.match."): value for name, value in (span.attributes or {}).items()}


def test_a_match_is_one_span_with_what_came_of_it(told: Any, store: IntentService, telemetry: Telemetry) -> None:
    arm(store)
    plain = {"fired": 0, "held": 0, "truncated": False, "duplicate": False}
    none, one = {"candidates": 0, "completed": 0}, {"candidates": 1, "completed": 1}
    for matched, expected in (
        (lambda: told.match(turn("hello", "m1")), plain | none),
        (lambda: told.match(turn(LATER, "m2"), hold=True), plain | one | {"fired": 1, "held": 1}),
        (lambda: told.match(turn(LATER, "m2"), hold=True), plain | {"duplicate": True}),
        (lambda: told.match(turn(LATER, "m3"), invocation=Invocation(0.0)), plain | {"skipped": "deadline"}),
    ):
        matched()
        [span] = telemetry.spans()
        assert (span.name, span.kind, span.status.status_code) == (
            "standing_intents.match",
            SpanKind.INTERNAL,
            StatusCode.UNSET,
        )
        assert span.instrumentation_scope is not None
        assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == ("intents", __version__)
        assert attributes(span) == expected


def test_the_metrics_add_up(told: Any, store: IntentService, telemetry: Telemetry, clock: FrozenClock) -> None:
    for keyword in ("release candidate", "candidate", "launch"):
        told.create(make_draft(keyword, description=keyword), by=OWNER)
    told.match(turn("hello", "m1"))
    told.match(turn("hello", "m1"))
    told.match(turn("hello", "m1", OTHER))
    told.match(turn(LATER, "m2"))  # two fire
    told.match(turn(LATER, "m2"))
    told.match(turn("launch", "m3"), hold=True)
    told.release(turn("launch", "m3"))
    told.match(turn("launch", "m3"), hold=True)
    told.confirm(turn("launch", "m3"))
    clock.advance(hours=2)
    told.match(turn(LATER, "m4"), hold=True)  # two, whose hold lapses
    clock.advance(hours=2)
    assert told.sweep().released == 2
    told.match(Turn(text=LATER, identity=OWNER, kind="system"))
    told.match(turn(LATER, "m5"), invocation=Invocation(0.0))
    metrics = telemetry.metrics()
    assert metrics.pop("live", {}) in ({("armed",): 3, ("fired",): 0, ("pending",): 0}, {})
    assert metrics == {
        "match.duration": {("missed",): 3, ("fired",): 4, ("duplicate",): 1, ("skipped",): 2},
        "misses": {(): 3},
        "fires": {(): 6},
        "held": {(): 4},
        "confirmed": {(): 1},
        "released": {(): 3},
        "skips": {("kind",): 1, ("deadline",): 1},
    }


def test_a_truncated_turn_is_counted(engine_service: Callable[..., Any], telemetry: Telemetry) -> None:
    told = engine_service(LIMITS.model_copy(update={"candidates": 1}))
    for number in range(3):
        told.create(make_draft("candidate", description=str(number)), by=OWNER)
    told.match(turn(LATER, "m1"))
    assert telemetry.metrics()["truncations"] == {(): 1}
    assert attributes(telemetry.spans()[-1])["truncated"] is True


@pytest.fixture
def engine_service(sqlite_engine: Engine, clock: FrozenClock, telemetry: Telemetry) -> Callable[..., Any]:
    def make(limits: Any) -> Any:
        service = IntentService(sessionmaker(sqlite_engine), owners=OWNERS, limits=limits, clock=clock)
        return telemetry.instrument(service)

    return make


def test_create_and_sweep_are_spans(told: Any, telemetry: Telemetry, clock: FrozenClock) -> None:
    intent = told.create(make_draft(expires_at=clock() + timedelta(days=1)), by=OWNER)
    assert intent.description == "Confirm the rollback owner"
    clock.advance(days=2)
    assert told.sweep().expired == 1
    create, sweep = telemetry.spans()
    assert (create.name, dict(create.attributes or {})) == ("standing_intents.create", {})
    assert sweep.name == "standing_intents.sweep"
    assert dict(sweep.attributes or {}) == {
        "standing_intents.sweep.expired": 1,
        "standing_intents.sweep.rearmed": 0,
        "standing_intents.sweep.released": 0,
        "standing_intents.sweep.more": False,
    }


def test_of_an_error_only_the_class_is_told(told: Any, telemetry: Telemetry) -> None:
    with pytest.raises(NotAuthorized):
        told.create(make_draft(), by=OTHER)
    with pytest.raises(InvalidIntent):
        told.match(turn(LATER, None), hold=True)
    for span, kind in zip(telemetry.spans(), ("NotAuthorized", "InvalidIntent"), strict=True):
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
        assert not span.events
        assert dict(span.attributes or {}) == {"error.type": f"intents.errors.{kind}"}
    assert telemetry.metrics()["match.duration"] == {("intents.errors.InvalidIntent", "failed"): 1}


def test_no_text_and_nobody_s_id_is_told(told: Any, store: IntentService, telemetry: Telemetry) -> None:
    intent = arm(store)
    told.create(make_draft("secret word", description="secret plan"), by=OWNER, turn_id="msg-77", session_id="s-88")
    told.match(turn(f"{LATER} secret word", "msg-78"), hold=True)
    told.release(turn("", "msg-78"), reason="secret reason")
    told.cancel(intent, by=OWNER, reason="secret reason")
    everything = telemetry.everything()
    assert "standing_intents.match" in everything
    for private in ("secret", "U1", "C1", "slack", REMINDER, "release candidate", LATER, "msg-7", "s-88", intent):
        assert private not in everything


def test_everything_else_is_the_service_s_own(service: Any, store: IntentService, telemetry: Telemetry) -> None:
    intent = arm(store)
    told = telemetry.instrument(service)
    assert told.settings is service.settings
    called = Awaited(told)
    assert called.get(intent).id == intent
    assert [one.id for one in called.list(live=True)] == [intent]
    assert called.explain(turn(LATER, "m1"))[0].fires
    assert [event.event for event in called.history(intent)] == ["create", "arm"]
    tool = IntentTool.for_identity(told, OWNER)
    assert tool is not None
    assert asyncio.run(tool.acall({"action": "list"}))["ok"]
    assert not telemetry.spans()


def test_the_host_s_transaction_is_instrumented_too(
    service: Any, store: IntentService, sqlite_engine: Engine, telemetry: Telemetry
) -> None:
    arm(store)
    with Session(sqlite_engine) as session:
        assert telemetry.instrument(service).using(session).match(turn(LATER, "m2"))
        session.commit()
    assert [span.name for span in telemetry.spans()] == ["standing_intents.match"]


def test_a_hook_takes_an_instrumented_service(store: IntentService, telemetry: Telemetry) -> None:
    arm(store)
    hook = PromptHook(telemetry.instrument(store))
    assert REMINDER in (hook.before_prompt(turn(LATER, "m2"), Invocation.after(2)) or "")
    hook.before_prompt(Turn(text="", identity=OWNER, kind="heartbeat"), None)
    assert [span.name for span in telemetry.spans()] == ["standing_intents.match", "standing_intents.sweep"]


def test_spans_have_their_place_in_the_host_s_trace(told: Any, telemetry: Telemetry) -> None:
    with telemetry.tracer_provider.get_tracer("host").start_as_current_span("request"):
        told.match(turn("hello", "m1"))
    match, request = telemetry.spans()
    assert match.parent is not None
    assert request.context is not None
    assert match.parent.span_id == request.context.span_id


def test_services_of_one_process_are_told_apart(
    store: IntentService, sqlite_engine: Engine, telemetry: Telemetry, recwarn: pytest.WarningsRecorder
) -> None:
    other = IntentService(sessionmaker(sqlite_engine), agent_id="other", owners=OWNERS, limits=LIMITS)
    kept = []
    for service, name in ((store, "a"), (other, "b")):
        told = telemetry.instrument(service, attributes={"service.role": name})
        kept.append(told)
        for keyword in ("one", "two") if name == "a" else ("three",):
            told.create(make_draft(keyword), by=OWNER)
        told.match(turn("two", "m1"))
    metrics = telemetry.metrics()
    assert {key: number for key, number in metrics["live"].items() if number} == {
        ("a", "armed"): 1,
        ("a", "fired"): 1,
        ("b", "armed"): 1,
    }
    assert metrics["match.duration"] == {("a", "fired"): 1, ("b", "missed"): 1}
    assert {span.attributes["service.role"] for span in telemetry.spans() if span.attributes} == {"a", "b"}
    assert not recwarn
    del kept[:], told
    gc.collect()
    assert "live" not in telemetry.metrics()  # what nobody uses is not counted


def test_the_gauge_counts_an_asynchronous_service_from_another_thread(
    async_service: AsyncIntentService, telemetry: Telemetry
) -> None:
    told = telemetry.instrument(async_service)
    counted: list[dict[str, Points]] = []

    async def body() -> None:
        assert telemetry.metrics().get("live", {}) == {}  # nothing was called yet, so no loop is known
        await told.create(make_draft("one"), by=OWNER)
        await told.create(make_draft("two", armed=False), by=OWNER)
        counted.append(await asyncio.to_thread(telemetry.metrics))
        await told.match(turn("one", "m1"))
        counted.append(telemetry.metrics())  # on the loop itself: it must not wait for itself
        counted.append(await asyncio.to_thread(telemetry.metrics))

    asyncio.run(body())
    counted.append(telemetry.metrics())  # the loop has ended
    before = {("armed",): 1, ("fired",): 0, ("pending",): 1}
    after = {("armed",): 0, ("fired",): 1, ("pending",): 1}
    assert [each["live"] for each in counted] == [before, before, after, after]


def test_without_a_provider_it_costs_next_to_nothing(store: IntentService) -> None:
    arm(store)
    told = instrument(store)
    assert told.match(turn(LATER, "m2"))
    assert told.match(turn(LATER, "m2")).duplicate


def test_a_database_that_is_gone_does_not_stop_the_other_metrics(
    store: IntentService, sqlite_engine: Engine, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    told = telemetry.instrument(store)
    told.match(turn("hello", "m1"))
    with sqlite_engine.begin() as connection:
        connection.execute(text("DROP TABLE standing_intents"))
    collected: list[dict[str, Points]] = []
    thread = threading.Thread(target=lambda: collected.append(telemetry.metrics()))
    thread.start()
    thread.join()
    assert collected[0]["misses"] == {(): 1}
    assert "live" not in collected[0]
    assert "could not be counted" in caplog.text
