"""One unit of work in one session: begin, do, commit; again when another transaction won the race.

Both services run these functions, the asynchronous one through ``AsyncSession.run_sync``. The session is the service's
own, fresh from its factory; nothing here is used in a host's transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from intents import locks
from intents.errors import ConcurrentUpdate, InvocationExpired
from intents.repository import IntentRepository
from intents.repository.matching import lock_wait, skipped
from intents.schemas import Matches, Turn

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from intents.invocation import Invocation
    from intents.settings import Settings

Result = TypeVar("Result")


def read(session: Session, settings: Settings, work: Callable[[IntentRepository], Result]) -> Result:
    """Run a reading call; nothing is committed.

    Raises:
        ConcurrentUpdate: the host's engine takes the write lock even to read, and it was not free in time.
    """
    with locks.patience(_own(session)) as patience:
        patience.bound(lock_wait(settings, None))
        return work(IntentRepository._of(session, settings, owns_transaction=True))


def look(session: Session, settings: Settings, work: Callable[[Session], Result]) -> Result:
    """Run a reading call that is bound to no agent; nothing is committed.

    Raises:
        ConcurrentUpdate: see `read`.
    """
    with locks.patience(session) as patience:
        patience.bound(lock_wait(settings, None))
        return work(session)


def write(session: Session, settings: Settings, work: Callable[[IntentRepository], Result]) -> Result:
    """Run a writing call and commit it.

    Raises:
        ConcurrentUpdate: the race was still lost after `Limits.lock_wait`.
    """
    give_up = time.monotonic() + lock_wait(settings, None)
    with locks.patience(_own(session)) as patience:
        while True:
            try:
                patience.bound(lock_wait(settings, None))
                result = work(IntentRepository._of(session, settings, owns_transaction=True))
                with locks.named_errors():
                    session.commit()
            except ConcurrentUpdate as error:
                session.rollback()
                if time.monotonic() >= give_up:
                    raise ConcurrentUpdate(error.reason, transaction_lost=False) from error
            except BaseException:
                session.rollback()
                raise
            else:
                return result


def match(session: Session, settings: Settings, turn: Turn, *, invocation: Invocation | None, hold: bool) -> Matches:
    """Look, and on a hit fire and commit; a turn that comes too late or meets a lock is skipped and spends nothing."""
    give_up = time.monotonic() + lock_wait(settings, None)
    with locks.patience(_own(session)) as patience:
        attempt = _Attempt(session, settings, patience, turn, invocation, hold)
        while True:
            try:
                return attempt.run()
            except InvocationExpired as error:
                session.rollback()
                return skipped(error.cause)
            except ConcurrentUpdate:
                session.rollback()
                if invocation is not None and invocation.remaining() == 0.0:
                    return skipped("deadline")
                if time.monotonic() >= give_up:
                    return skipped("busy")
            except BaseException:
                session.rollback()
                raise


@dataclass(frozen=True, slots=True)
class _Attempt:
    session: Session
    settings: Settings
    patience: locks.Patience
    turn: Turn
    invocation: Invocation | None
    hold: bool

    def run(self) -> Matches:
        repository = IntentRepository._of(self.session, self.settings, owns_transaction=True)
        self._bound()
        sighting = repository._look(self.turn, invocation=self.invocation, hold=self.hold)
        if sighting.answer is not None:
            return sighting.answer
        # The read transaction ends before the lock is taken: a snapshot could not be written from.
        self.session.rollback()
        self._bound()
        matches = repository._fire(sighting, invocation=self.invocation, hold=self.hold)
        if not matches or matches.duplicate:
            self.session.rollback()
            return matches
        if self.invocation is not None:
            self.invocation.assert_active()
        self._bound()
        with locks.named_errors():
            self.session.commit()
        return matches

    def _bound(self) -> None:
        self.patience.bound(lock_wait(self.settings, self.invocation))


def _own(session: Session) -> Session:
    # A host's factory may leave it to the host to begin; here nobody else would.
    session.autobegin = True
    return session
