"""How long the caller still wants an answer."""

from __future__ import annotations

import time

from intents.errors import InvocationExpired


class Invocation:
    """The life of one call of the host's prompt hook: a deadline and a switch.

    A turn whose invocation is over spends nothing, however far it had come.

    Args:
        deadline: seconds of `time.monotonic()`; None for no deadline.
    """

    def __init__(self, deadline: float | None = None) -> None:
        self._deadline = deadline
        self._switched_off = False
        self._parent: Invocation | None = None

    @classmethod
    def after(cls, seconds: float) -> Invocation:
        """An invocation that ends `seconds` from now."""
        return cls(time.monotonic() + seconds)

    @classmethod
    def within(cls, parent: Invocation | None) -> Invocation:
        """An invocation that ends with `parent` and can be cancelled on its own."""
        child = cls(None if parent is None else parent._deadline)
        child._parent = parent
        return child

    @property
    def _cancelled(self) -> bool:
        return self._switched_off or (self._parent is not None and self._parent._cancelled)

    def cancel(self) -> None:
        """End the invocation now; safe from any thread."""
        self._switched_off = True

    def remaining(self) -> float | None:
        """Seconds left, never negative; 0 once cancelled; None without a deadline."""
        if self._cancelled:
            return 0.0
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def assert_active(self) -> None:
        """Raise `InvocationExpired` when the deadline has passed or the invocation was cancelled."""
        if self._cancelled:
            raise InvocationExpired("cancelled")
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise InvocationExpired("deadline")
