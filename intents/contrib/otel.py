"""OpenTelemetry: a service that writes spans and metrics, and is otherwise the one that it was.

::

    service = instrument(IntentService(sessionmaker(engine), owners=owners))

Spans ``standing_intents.match``, ``.create`` and ``.sweep``; metrics:

========================================  =====================  =================================================
``standing_intents.match.duration``       histogram, ``s``       by ``standing_intents.match.outcome``: ``fired``,
                                                                 ``missed``, ``duplicate``, ``skipped``, ``failed``
``standing_intents.fires``                counter, ``{intent}``  intents that fired, held ones included
``standing_intents.misses``               counter, ``{turn}``    turns that were decided and fired nothing
``standing_intents.skips``                counter, ``{turn}``    turns not decided, by
                                                                 ``standing_intents.skip.reason``
``standing_intents.truncations``          counter, ``{turn}``    turns that met more candidates than the bound
``standing_intents.held``                 counter, ``{intent}``  firings that waited for their reply
``standing_intents.confirmed``            counter, ``{intent}``  held firings that were delivered
``standing_intents.released``             counter, ``{intent}``  held firings that were given back, by a call of
                                                                 `release` or by a sweep
``standing_intents.live``                 gauge, ``{intent}``    live intents by ``standing_intents.status``
========================================  =====================  =================================================

Neither holds a message, a description or anybody's id. A failed call is marked with ``error.type``, the class of its
error and nothing else.

Install with ``pip install "standing-intents[otel]"``.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from intents._version import __version__

try:
    from opentelemetry import metrics, trace
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.trace import SpanKind, StatusCode
except ImportError as error:
    raise ImportError('intents.contrib.otel needs OpenTelemetry: pip install "standing-intents[otel]"') from error

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from sqlalchemy.orm import Session

    from intents.aio import AsyncIntentService
    from intents.lifecycle import Status
    from intents.repository import IntentRepository
    from intents.schemas import IntentCreate, IntentRead, Matches, SweepResult, Turn
    from intents.service import IntentService

__all__ = ["instrument"]

log = logging.getLogger(__name__)

Scalar = str | bool | int | float
Service = TypeVar("Service", "IntentService", "AsyncIntentService")

#: Seconds. A miss takes well under a millisecond, a hit that waits for a lock up to `Limits.lock_wait`.
_BUCKETS: Final = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0]
#: Longest that a collection of metrics waits for the event loop to count, in seconds.
_PATIENCE: Final = 5.0


def instrument(
    service: Service,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    attributes: Mapping[str, Scalar] | None = None,
) -> Service:
    """Return a service that does what the given one does, and tells OpenTelemetry.

    What `using` returns is instrumented too; it counts what the host's transaction may still roll back. The gauge
    counts with a query whenever metrics are collected, as long as the returned service is in use; with an
    `AsyncIntentService` on the loop of its last call. Services with the same attributes are added up.

    Args:
        service: the service; it stays usable and silent.
        tracer_provider: where spans go; the global provider when None.
        meter_provider: where metrics go; the global provider when None.
        attributes: put on every span and measurement; tells several services of one process apart. Keep people's ids
            out of it.
    """
    provider = meter_provider or metrics.get_meter_provider()
    telemetry = _Telemetry(
        trace.get_tracer("intents", __version__, tracer_provider),
        metrics.get_meter("intents", __version__, provider),
        dict(attributes or {}),
    )
    given: Any = service
    kind: Any = _AsyncInstrumented if inspect.iscoroutinefunction(given.match) else _Instrumented
    instrumented = kind(given, telemetry)
    _watch(instrumented, provider)
    return cast("Service", instrumented)


#: The services that a provider's one gauge counts: a second gauge of the same name would be ignored.
_watched: weakref.WeakKeyDictionary[metrics.MeterProvider, weakref.WeakSet[_Instrumented | _AsyncInstrumented]]
_watched = weakref.WeakKeyDictionary()


def _watch(instrumented: _Instrumented | _AsyncInstrumented, provider: metrics.MeterProvider) -> None:
    services = _watched.get(provider)
    if services is None:
        services = _watched[provider] = weakref.WeakSet()
        metrics.get_meter("intents", __version__, provider).create_observable_gauge(
            "standing_intents.live", [partial(_observe, services)], unit="{intent}", description="Live intents."
        )
    services.add(instrumented)


def _observe(
    services: weakref.WeakSet[_Instrumented | _AsyncInstrumented], _options: CallbackOptions
) -> Iterable[Observation]:
    totals: Counter[tuple[tuple[str, Scalar], ...]] = Counter()
    for service in tuple(services):
        try:
            counted = service.count()
        except Exception:
            log.warning("Live intents could not be counted.", exc_info=True)
            continue
        for status, number in counted.items():
            told = service._telemetry.attributes | {"standing_intents.status": status.value}
            totals[tuple(sorted(told.items()))] += number
    for attributes, number in totals.items():
        yield Observation(number, dict(attributes))


class _Telemetry:
    """The instruments, and what is written to them."""

    def __init__(self, tracer: trace.Tracer, meter: metrics.Meter, attributes: dict[str, Scalar]) -> None:
        self._tracer = tracer
        self.attributes = attributes
        self._duration = meter.create_histogram(
            "standing_intents.match.duration",
            unit="s",
            description="How long it took to decide on a turn.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )

        def counter(name: str, unit: str, description: str) -> metrics.Counter:
            return meter.create_counter(f"standing_intents.{name}", unit=unit, description=description)

        self._fires = counter("fires", "{intent}", "Intents that fired, held ones included.")
        self._misses = counter("misses", "{turn}", "Turns that were decided and fired nothing.")
        self._skips = counter("skips", "{turn}", "Turns on which nothing was decided.")
        self._truncations = counter("truncations", "{turn}", "Turns that met more candidates than the bound.")
        self._held = counter("held", "{intent}", "Firings that waited for their reply.")
        self._confirmed = counter("confirmed", "{intent}", "Held firings that were delivered.")
        self._released = counter("released", "{intent}", "Held firings that were given back.")

    @contextmanager
    def span(self, operation: str) -> Iterator[Span]:
        """A span around an operation; of an error it tells the class only."""
        with self._tracer.start_as_current_span(
            f"standing_intents.{operation}",
            kind=SpanKind.INTERNAL,
            attributes=self.attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", _type_of(error))
                span.set_status(StatusCode.ERROR)
                raise

    @contextmanager
    def matching(self, *, hold: bool) -> Iterator[Callable[[Matches], None]]:
        """A span and a measured time around a match; call what it gives with the result."""
        began = time.perf_counter()
        measured: dict[str, Scalar] = {"standing_intents.match.outcome": "failed"}
        try:
            with self.span("match") as span:

                def note(matches: Matches) -> None:
                    measured["standing_intents.match.outcome"] = self._note(span, matches, hold=hold)

                yield note
        except BaseException as error:
            measured["error.type"] = _type_of(error)
            raise
        finally:
            self._duration.record(time.perf_counter() - began, self.attributes | measured)

    def swept(self, span: Span, result: SweepResult) -> None:
        """Note what a sweep moved."""
        for name in ("expired", "rearmed", "released", "more"):
            span.set_attribute(f"standing_intents.sweep.{name}", getattr(result, name))
        self._add(self._released, result.released)

    def confirmed(self, count: int) -> None:
        """Count firings that were delivered."""
        self._add(self._confirmed, count)

    def released(self, count: int) -> None:
        """Count firings that were given back."""
        self._add(self._released, count)

    def skipped(self, reason: str) -> None:
        """Count a turn that was not decided."""
        self._add(self._skips, 1, {"standing_intents.skip.reason": reason})

    def _note(self, span: Span, matches: Matches, *, hold: bool) -> str:
        fired = 0 if matches.duplicate else len(matches)
        told = {
            "candidates": matches.candidates,
            "completed": matches.completed,
            "fired": fired,
            "held": fired if hold else 0,
            "truncated": matches.truncated,
            "duplicate": matches.duplicate,
            "skipped": matches.skipped,
        }
        for name, value in told.items():
            if value is not None:
                span.set_attribute(f"standing_intents.match.{name}", value)
        if matches.truncated:
            self._add(self._truncations, 1)
        if matches.skipped is not None:
            self.skipped(matches.skipped)
            return "skipped"
        if matches.duplicate:
            return "duplicate"
        if not fired:
            self._add(self._misses, 1)
            return "missed"
        self._add(self._fires, fired)
        if hold:
            self._add(self._held, fired)
        return "fired"

    def _add(self, counter: metrics.Counter, number: int, more: Mapping[str, Scalar] | None = None) -> None:
        if number:
            counter.add(number, {**self.attributes, **(more or {})})


class _Instrumented:
    """A synchronous service, or a repository in a host's transaction."""

    def __init__(self, service: IntentService | IntentRepository, telemetry: _Telemetry) -> None:
        self._service = service
        self._telemetry = telemetry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    def using(self, session: Session) -> _Instrumented:
        return _Instrumented(cast("IntentService", self._service).using(session), self._telemetry)

    def create(self, draft: IntentCreate, **options: Any) -> IntentRead:
        with self._telemetry.span("create"):
            return self._service.create(draft, **options)

    def create_many(self, drafts: Sequence[IntentCreate], **options: Any) -> list[IntentRead]:
        with self._telemetry.span("create") as span:
            span.set_attribute("standing_intents.create.count", len(drafts))
            return self._service.create_many(drafts, **options)

    def match(self, turn: Turn, *, hold: bool = False, **options: Any) -> Matches:
        with self._telemetry.matching(hold=hold) as note:
            matches = self._service.match(turn, hold=hold, **options)
            note(matches)
            return matches

    def _skip(self, reason: str) -> Matches:
        self._telemetry.skipped(reason)
        return cast("IntentService", self._service)._skip(reason)

    def confirm(self, turn: Turn) -> int:
        count = self._service.confirm(turn)
        self._telemetry.confirmed(count)
        return count

    def release(self, turn: Turn, **options: Any) -> int:
        count = self._service.release(turn, **options)
        self._telemetry.released(count)
        return count

    def sweep(self, **options: Any) -> SweepResult:
        with self._telemetry.span("sweep") as span:
            result = self._service.sweep(**options)
            self._telemetry.swept(span, result)
            return result

    def count(self) -> dict[Status, int]:
        """Count live intents by status."""
        return self._service.count_live()


class _AsyncInstrumented:
    """An asynchronous service."""

    def __init__(self, service: AsyncIntentService, telemetry: _Telemetry) -> None:
        self._service = service
        self._telemetry = telemetry
        self._loop: asyncio.AbstractEventLoop | None = None
        self._counted: dict[Status, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    def using(self, session: Session) -> _Instrumented:
        return _Instrumented(self._service.using(session), self._telemetry)

    async def create(self, draft: IntentCreate, **options: Any) -> IntentRead:
        with self._on_this_loop().span("create"):
            return await self._service.create(draft, **options)

    async def create_many(self, drafts: Sequence[IntentCreate], **options: Any) -> list[IntentRead]:
        with self._on_this_loop().span("create") as span:
            span.set_attribute("standing_intents.create.count", len(drafts))
            return await self._service.create_many(drafts, **options)

    async def match(self, turn: Turn, *, hold: bool = False, **options: Any) -> Matches:
        with self._on_this_loop().matching(hold=hold) as note:
            matches = await self._service.match(turn, hold=hold, **options)
            note(matches)
            return matches

    def _skip(self, reason: str) -> Matches:
        self._telemetry.skipped(reason)
        return self._service._skip(reason)

    async def confirm(self, turn: Turn) -> int:
        count = await self._service.confirm(turn)
        self._on_this_loop().confirmed(count)
        return count

    async def release(self, turn: Turn, **options: Any) -> int:
        count = await self._service.release(turn, **options)
        self._on_this_loop().released(count)
        return count

    async def sweep(self, **options: Any) -> SweepResult:
        with self._on_this_loop().span("sweep") as span:
            result = await self._service.sweep(**options)
            self._telemetry.swept(span, result)
            return result

    def count(self) -> dict[Status, int]:
        """Count on the service's own loop; where that cannot be waited for, the numbers of the time before."""
        loop = self._loop
        if loop is not None and loop.is_running() and loop is not _running_loop():
            self._counted = asyncio.run_coroutine_threadsafe(self._service.count_live(), loop).result(_PATIENCE)
        return self._counted

    def _on_this_loop(self) -> _Telemetry:
        self._loop = asyncio.get_running_loop()
        return self._telemetry


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _type_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
