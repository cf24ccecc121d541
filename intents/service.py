"""`IntentService`: the repository with transactions of its own."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.orm import scoped_session

from intents import transactions
from intents.lifecycle import Status
from intents.policy import OwnerPolicy
from intents.repository import IntentRepository
from intents.schemas import (
    Activity,
    Admin,
    Explanation,
    Identity,
    IntentCreate,
    IntentEventRead,
    IntentRead,
    Limits,
    Matches,
    PruneResult,
    ReindexResult,
    Statistics,
    SweepResult,
    Turn,
)
from intents.settings import Clock, Settings

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session

    from intents.context import Wording
    from intents.invocation import Invocation
    from intents.text import Analyzer

Result = TypeVar("Result")


class IntentService:
    """The library's main door: each call is one transaction of its own, retried when another one won the race.

    Args:
        sessions: a `sessionmaker`, or any callable that returns a new `Session`.
        agent_id: whose intents; other agents' are invisible.
        owners: who may create, list and cancel; nobody by default.
        analyzer: how text becomes terms; English when None.
        limits: bounds and defaults.
        clock: returns the aware current time; the machine's when None.
        wording: the words of the hidden block, for another language.
    """

    def __init__(
        self,
        sessions: Callable[[], Session],
        *,
        agent_id: str = "main",
        owners: OwnerPolicy = OwnerPolicy(),  # noqa: B008 - frozen
        analyzer: Analyzer | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        wording: Wording | None = None,
    ) -> None:
        if not callable(sessions):
            raise TypeError("sessions takes a sessionmaker, such as sessionmaker(engine), or a function like it.")
        # A scoped_session hands out one session again and again; its factory makes new ones.
        self._sessions = sessions.session_factory if isinstance(sessions, scoped_session) else sessions
        self.settings = Settings.of(
            agent_id=agent_id, owners=owners, analyzer=analyzer, limits=limits, clock=clock, wording=wording
        )

    def using(self, session: Session | scoped_session[Session]) -> IntentRepository:
        """Return the same methods with the same settings inside the host's session and transaction.

        Raises:
            UnsupportedDialect: the session's database is neither SQLite nor PostgreSQL.
        """
        return IntentRepository._of(_unscoped(session), self.settings, owns_transaction=False)

    def create(
        self, draft: IntentCreate, *, by: Identity, turn_id: str | None = None, session_id: str | None = None
    ) -> IntentRead:
        """Create an intent, or return the identical live one.

        Identical means: same agent, scope, creator, description, keyword sets, language and `within`.

        Args:
            draft: what to remind of, and when.
            by: an owner, with provider and sender.
            turn_id: the message that asked for it; the intent never fires on that turn.
            session_id: the host's session, recorded only.

        Returns:
            The intent as stored, with advice on keywords that will fire rarely or too often.

        Raises:
            NotAuthorized: `by` is not on the owner list, or has no sender.
            InvalidIntent: the draft breaks a limit, names an unknown language, expires in the past or lacks a
                conversation.
            InvalidTrigger: a keyword has no word to match, or is too long.
            SchemaMismatch: the tables or the triggers that keep the index are missing.
            ConcurrentUpdate: the write lock was not free within `Limits.lock_wait`.
        """
        return self._write(lambda repository: repository.create(draft, by=by, turn_id=turn_id, session_id=session_id))

    def create_many(
        self,
        drafts: Sequence[IntentCreate],
        *,
        by: Identity,
        turn_id: str | None = None,
        session_id: str | None = None,
    ) -> builtins.list[IntentRead]:
        """Create all intents in one transaction, or none of them; each is judged as by `create`.

        Args:
            drafts: up to 20,000, for an import. Of identical ones the first is created and the others return it.
            by: an owner, with provider and sender.
            turn_id: the message that asked for them; they never fire on that turn.
            session_id: the host's session, recorded only.

        Returns:
            The intents in the order of the drafts; empty when there are none.

        Raises:
            NotAuthorized: `by` is not on the owner list, or has no sender.
            InvalidIntent: a draft is refused; its field begins with the draft's place, such as ``drafts[3].language``.
            InvalidTrigger: a keyword of a draft is refused; likewise.
            SchemaMismatch: the tables or the triggers that keep the index are missing.
            ConcurrentUpdate: the write lock was not free within `Limits.lock_wait`.
        """
        return self._write(
            lambda repository: repository.create_many(drafts, by=by, turn_id=turn_id, session_id=session_id)
        )

    def get(self, intent_id: str) -> IntentRead:
        """Return one intent of the agent.

        Raises:
            IntentNotFound: the agent has none of this id.
        """
        return self._read(lambda repository: repository.get(intent_id))

    def list(
        self, *, status: Status | str | None = None, live: bool = False, after: str | None = None, limit: int = 100
    ) -> list[IntentRead]:
        """Return the agent's intents, oldest first; empty when there are none.

        Args:
            status: only those whose effective status is this; `Status` or its value, such as ``"armed"``.
            live: only those that something can still happen to.
            after: the last id of the page before.
            limit: 1 to 1000.

        Raises:
            IntentNotFound: `after` is no intent of the agent.
            InvalidIntent: `limit` is out of range, or there is no such status.
        """
        return self._read(lambda repository: repository.list(status=status, live=live, after=after, limit=limit))

    def arm(self, intent_id: str, *, by: Identity) -> IntentRead:
        """Arm a pending intent; on an armed one there is nothing to do.

        Raises:
            NotAuthorized: `by` is not an owner.
            IntentNotFound: the agent has none of this id.
            TransitionNotAllowed: it is neither pending nor armed, or its expiry is reached.
        """
        return self._write(lambda repository: repository.arm(intent_id, by=by))

    def cancel(self, intent_id: str, *, by: Identity | Admin, reason: str | None = None) -> IntentRead:
        """Cancel an intent for good; on a cancelled one there is nothing to do.

        Args:
            intent_id: the intent.
            by: an owner or an admin.
            reason: kept in the audit log as one clean line.

        Raises:
            NotAuthorized: `by` is neither owner nor admin.
            IntentNotFound: the agent has none of this id.
            TransitionNotAllowed: it is done or expired.
        """
        return self._write(lambda repository: repository.cancel(intent_id, by=by, reason=reason))

    def match(self, turn: Turn, *, invocation: Invocation | None = None, hold: bool = False) -> Matches:
        """Decide which intents fire on a turn, and fire them, in one transaction and without any model.

        An intent fires when the turn is in its scope, completes one of its entries and none of its exclusions, and the
        intent is armed (or fired and cooled down), not expired, within its fire budget and not held by an undelivered
        firing; when it is not the turn that created it; and when it is among the oldest `Limits.fires_per_turn` whose
        lines fit in the block. What does not fit is left unspent.

        Args:
            turn: the inbound message. Only the kind ``user`` matches.
            invocation: the caller's deadline; a turn that comes too late spends nothing.
            hold: fire, but wait for `confirm` or `release`; needs `Turn.id`.

        Returns:
            What fired, with the hidden block; empty when nothing did. A repeated turn id gets its first answer again,
            with ``duplicate``. ``skipped`` says why nothing was decided: ``kind``, ``deadline``, ``cancelled`` or
            ``busy``.

        Raises:
            InvalidIntent: `hold` without a turn id.
            SchemaMismatch: the tables are missing.
        """
        with self._sessions() as session:
            return transactions.match(session, self.settings, turn, invocation=invocation, hold=hold)

    def confirm(self, turn: Turn) -> int:
        """Settle a held turn as delivered: cooldowns count from the fire, spent budgets are done.

        Returns:
            How many firings were settled; 0 when nothing was held or the hold had lapsed.

        Raises:
            InvalidIntent: the turn has no id.
        """
        return self._write(lambda repository: repository.confirm(turn))

    def release(self, turn: Turn, *, reason: str | None = None) -> int:
        """Give the firings of a held turn back: counts, times and status as before; the turn may fire again.

        Args:
            turn: the turn, by its id and identity.
            reason: kept in the audit log.

        Returns:
            How many firings were given back; 0 when nothing was held.

        Raises:
            InvalidIntent: the turn has no id.
        """
        return self._write(lambda repository: repository.release(turn, reason=reason))

    def sweep(self, *, limit: int = 1000) -> SweepResult:
        """Write down what time has decided already: lapsed holds, expiries, ended cooldowns.

        Matching is right without it. Call it from a heartbeat or a cron job, again while ``more``: on SQLite it also
        merges a part of the full-text index, which retired rows make slower until then. Between two calls leave a tenth
        of a second to turns that wait for SQLite's write lock.

        Args:
            limit: most rows to move in this call.
        """
        return self._write(lambda repository: repository.sweep(limit=limit))

    def reindex(self, *, after: int | None = None, limit: int = 500) -> ReindexResult:
        """Compile and index the live rows of another analyzer version afresh, one bounded batch.

        Matching does not need it, but such rows cost every turn a little until it is done. Call it again with
        ``after`` of the result while ``more``.

        Args:
            after: where to begin; the start when None.
            limit: most rows of this batch.

        Raises:
            InvalidIntent: `after` or `limit` is out of range.
        """
        return self._write(lambda repository: repository.reindex(after=after, limit=limit))

    def prune(self, *, before: datetime, limit: int = 500) -> PruneResult:
        """Remove intents that ended (done, cancelled, expired) before a moment, with their firings and log.

        A turn id is answered as repeated until the last intent that it fired is removed. An intent whose expiry no
        sweep has written down yet counts as live: sweep first.

        Args:
            before: an aware moment, compared with the time of the last change.
            limit: most intents of this batch.

        Raises:
            InvalidIntent: `before` is naive, or `limit` is below one.
        """
        return self._write(lambda repository: repository.prune(before=before, limit=limit))

    def explain(
        self, turn: Turn, *, intent_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> builtins.list[Explanation]:
        """Tell, for each live intent, whether it would fire on the turn or the first rule that stops it.

        A dry run: nothing is written.

        Args:
            turn: the turn.
            intent_id: explain this one only, whatever its status.
            after: the last id of the page before.
            limit: 1 to 1000.

        Raises:
            IntentNotFound: `intent_id` or `after` is no intent of the agent.
        """
        return self._read(lambda repository: repository.explain(turn, intent_id=intent_id, after=after, limit=limit))

    def statistics(self) -> Statistics:
        """Count the agent's intents by effective status, their firings and turns; reads every row once."""
        return self._read(lambda repository: repository.statistics())

    def activity(self, *, days: int = 30, intents: int = 10) -> Activity:
        """Count fires by day and by intent, and how often each arrow of the lifecycle was taken; for pictures.

        Args:
            days: how many days in UTC, today included; 1 to 3660.
            intents: how many of the intents that fired most; 1 to 1000.

        Raises:
            InvalidIntent: a number is out of range.
        """
        return self._read(lambda repository: repository.activity(days=days, intents=intents))

    def count_live(self) -> dict[Status, int]:
        """Count the agent's live intents by effective status: those that something can still happen to; for gauges."""
        return self._read(lambda repository: repository.count_live())

    def history(self, intent_id: str) -> builtins.list[IntentEventRead]:
        """Return the audit log of one intent, oldest first.

        Raises:
            IntentNotFound: the agent has none of this id.
        """
        return self._read(lambda repository: repository.history(intent_id))

    def _skip(self, reason: str) -> Matches:
        """Answer a turn that a hook does not bring before `match`; telemetry counts it here."""
        return Matches(skipped=reason)

    def _read(self, work: Callable[[IntentRepository], Result]) -> Result:
        with self._sessions() as session:
            return transactions.read(session, self.settings, work)

    def _write(self, work: Callable[[IntentRepository], Result]) -> Result:
        with self._sessions() as session:
            return transactions.write(session, self.settings, work)


def _unscoped(session: Session | scoped_session[Session]) -> Session:
    return session() if isinstance(session, scoped_session) else session
