"""One unit of work in one session: begin, do, commit; again when another transaction won the race.

Both services run these functions, the asynchronous one through ``AsyncSession.run_sync``. The session is the service's
own, fresh from its factory; nothing here is used in a host's transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from intents import locks
from intents.errors import ConcurrentUpdate, InvocationExpired
from intents.repository import IntentRepository
from intents.repository.matching import skipped
from intents.schemas import Matches, Turn

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from intents.invocation import Invocation
    from intents.settings import Settings

Result = TypeVar("Result")


def read(session: Session, settings: Settings, work: Callable[[IntentRepository], Result]) -> Result:
    """Run a reading call; nothing is committed."""
    return work(IntentRepository._of(session, settings, owns_transaction=True))


def write(session: Session, settings: Settings, work: Callable[[IntentRepository], Result]) -> Result:
    """Run a writing call and commit it.

    Raises:
        ConcurrentUpdate: the race was still lost after `Limits.lock_wait`.
    """
    give_up = time.monotonic() + settings.limits.lock_wait.total_seconds()
    while True:
        try:
            result = work(IntentRepository._of(session, settings, owns_transaction=True))
            _commit(session, settings, None)
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
    give_up = time.monotonic() + settings.limits.lock_wait.total_seconds()
    while True:
        try:
            return _match_once(session, settings, turn, invocation=invocation, hold=hold)
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


def _match_once(
    session: Session, settings: Settings, turn: Turn, *, invocation: Invocation | None, hold: bool
) -> Matches:
    repository = IntentRepository._of(session, settings, owns_transaction=True)
    sighting = repository._look(turn, invocation=invocation, hold=hold)
    # The read transaction ends before the lock is taken: a snapshot could not be written from.
    session.rollback()
    if sighting.answer is not None:
        return sighting.answer
    matches = repository._fire(sighting, invocation=invocation, hold=hold)
    if not matches or matches.duplicate:
        session.rollback()
        return matches
    if invocation is not None:
        invocation.assert_active()
    _commit(session, settings, invocation)
    return matches


def _commit(session: Session, settings: Settings, invocation: Invocation | None) -> None:
    wait = settings.limits.lock_wait.total_seconds()
    remaining = None if invocation is None else invocation.remaining()
    locks.commit(session, wait=wait if remaining is None else min(wait, remaining))
