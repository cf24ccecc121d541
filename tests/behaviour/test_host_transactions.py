"""Inside a host's transaction: flushed, never committed, undone with it; and nothing of the host's is touched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, event, select, text
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker
from sqlalchemy.pool import NullPool, QueuePool, SingletonThreadPool, StaticPool

from intents import (
    Identity,
    IntentCreate,
    IntentEvent,
    IntentNotFound,
    IntentRepository,
    IntentsError,
    IntentService,
    IntentTurn,
    InvalidIntent,
    InvalidTrigger,
    NotAuthorized,
    OwnerPolicy,
    SchemaMismatch,
    StandingIntent,
    Status,
    Turn,
    UnsupportedDialect,
    metadata,
)
from tests.behaviour.support import (
    ALICE,
    DAY,
    HOUR,
    ON_POSTGRESQL,
    ON_SQLITE,
    OWNER,
    SAID,
    SHARED,
    START,
    Clock,
    count_of,
    draft,
    ids,
    said,
    written,
)


class HostBase(DeclarativeBase):
    """The host's own tables."""


class Order(HostBase):
    """What the host is really about."""

    __tablename__ = "orders"
    number: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str]


@pytest.fixture
def host(engine: Engine) -> Any:
    HostBase.metadata.drop_all(engine)
    HostBase.metadata.create_all(engine)
    return sessionmaker(engine)


def orders(engine: Engine) -> list[str]:
    with Session(engine) as session:
        return list(session.scalars(select(Order.note).order_by(Order.number)))


# What happens with the host happens with us


def test_a_fire_is_undone_with_the_host_and_the_turn_fires_again(
    service: IntentService, engine: Engine, host: Any
) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    before = written(engine)
    with host() as session:
        assert ids(service.using(session).match(said(id="m1"))) == [intent.id]
        session.rollback()
    assert written(engine) == before
    with host() as session:
        matches = service.using(session).match(said(id="m1"))
        assert (ids(matches), matches.duplicate) == ([intent.id], False)
        session.commit()
    assert service.get(intent.id).fire_count == 1


def test_every_call_is_undone_with_the_host(service: IntentService, engine: Engine, host: Any, clock: Clock) -> None:
    pending = service.create(draft("pending", armed=False), by=OWNER)
    doomed = service.create(draft("doomed"), by=OWNER)
    held = service.create(draft("held"), by=OWNER)
    service.create(draft("expiring", expires_at=START + HOUR), by=OWNER)
    service.match(said("held", id="m1"), hold=True)
    before = written(engine)
    calls: list[Callable[[IntentRepository], Any]] = [
        lambda repository: repository.create(draft("new"), by=OWNER),
        lambda repository: repository.arm(pending.id, by=OWNER),
        lambda repository: repository.cancel(doomed.id, by=OWNER),
        lambda repository: repository.match(said("doomed")),
        lambda repository: repository.match(said("doomed", id="m2"), hold=True),
        lambda repository: repository.confirm(said(id="m1")),
        lambda repository: repository.release(said(id="m1")),
    ]
    for call in calls:
        with host() as session:
            assert call(service.using(session))
            session.rollback()
        assert written(engine) == before
    clock.advance(HOUR)
    with host() as session:
        assert service.using(session).sweep().expired == 1
        session.rollback()
    assert written(engine) == before
    assert service.get(held.id).fire_count == 1


def test_calls_see_what_the_same_transaction_did(service: IntentService, host: Any) -> None:
    with host() as session:
        repository = service.using(session)
        intent = repository.create(draft(max_fires=2, cooldown=timedelta(0)), by=OWNER)
        assert ids(repository.match(said(id="m1"), hold=True)) == [intent.id]
        assert repository.match(said(id="m1")).duplicate
        assert repository.confirm(said(id="m1")) == 1
        assert ids(repository.match(said(id="m2"))) == [intent.id]
        assert repository.get(intent.id).status is Status.DONE
        assert [e.event for e in repository.history(intent.id)] == [
            "create",
            "arm",
            "fire",
            "rearm",
            "fire",
            "complete",
        ]
        session.commit()
    assert service.get(intent.id).status is Status.DONE


def test_the_host_commits_when_it_likes(service: IntentService, engine: Engine, host: Any) -> None:
    with host() as session:
        service.using(session).create(draft(), by=OWNER)
        assert session.in_transaction()
        session.close()
    assert count_of(engine, StandingIntent) == 0
    with host.begin() as session:
        service.using(session).create(draft(), by=OWNER)
    assert count_of(engine, StandingIntent) == 1


# The host's own work


@pytest.mark.parametrize(
    ("bad", "by", "error"),
    [
        (draft("???"), OWNER, InvalidTrigger),
        (draft(expires_at=START), OWNER, InvalidIntent),
        (draft(language="tlh"), OWNER, InvalidIntent),
        (draft(), ALICE, NotAuthorized),
    ],
)
def test_a_refusal_leaves_the_hosts_pending_work_alone(
    service: IntentService, engine: Engine, host: Any, bad: IntentCreate, by: Identity, error: type[Exception]
) -> None:
    with host() as session:
        session.add(Order(number=1, note="pending"))
        with pytest.raises(error):
            service.using(session).create(bad, by=by)
        assert len(session.new) == 1, "not even flushed"
        session.add(Order(number=2, note="later"))
        session.commit()
    assert orders(engine) == ["pending", "later"]
    assert count_of(engine, StandingIntent) == 0


def test_a_failure_while_writing_takes_back_its_own_writes_only(
    service: IntentService, engine: Engine, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from intents.repository import journal

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    with host() as session:
        session.add(Order(number=1, note="pending"))
        with monkeypatch.context() as patch:
            patch.setattr(journal, "record", fail)
            with pytest.raises(RuntimeError, match="the disk is full"):
                service.using(session).create(draft(), by=OWNER)
        session.add(Order(number=2, note="later"))
        session.commit()
    assert orders(engine) == ["pending", "later"]
    assert count_of(engine, StandingIntent) == count_of(engine, IntentEvent) == 0
    assert not service.match(said())


def test_an_unknown_id_leaves_the_hosts_work_alone(service: IntentService, engine: Engine, host: Any) -> None:
    with host() as session:
        session.add(Order(number=1, note="pending"))
        for act in (service.using(session).cancel, service.using(session).arm):
            with pytest.raises(IntentNotFound):
                act("no such id", by=OWNER)
        session.commit()
    assert orders(engine) == ["pending"]


@ON_SQLITE
def test_a_missing_trigger_fails_the_call_and_not_the_host(service: IntentService, engine: Engine, host: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP TRIGGER standing_intents_index_insert"))
    with host() as session:
        session.add(Order(number=1, note="pending"))
        with pytest.raises(SchemaMismatch):
            service.using(session).create(draft(), by=OWNER)
        session.commit()
    assert orders(engine) == ["pending"]
    assert count_of(engine, StandingIntent) == 0


def test_reading_does_not_flush_what_the_host_has_pending(service: IntentService, host: Any) -> None:
    service.create(draft(), by=OWNER)
    with host() as session:
        repository = service.using(session)
        session.add(Order(number=1, note="pending"))
        repository.list()
        repository.explain(said())
        assert not repository.match(said("hello"))
        assert len(session.new) == 1
        assert repository.match(said())
        session.commit()


def test_a_host_may_keep_its_objects_as_they_are(service: IntentService, engine: Engine, host: Any) -> None:
    """Neither expired nor refreshed behind the host's back."""
    with host() as session:
        order = Order(number=1, note="first")
        session.add(order)
        session.flush()
        order.note = "changed"
        service.using(session).create(draft(), by=OWNER)
        service.using(session).match(said())
        assert order.note == "changed"
        session.commit()
    assert orders(engine) == ["changed"]


def test_loading_and_looking_leaves_nothing_to_write(service: IntentService, host: Any) -> None:
    service.create(draft(), by=OWNER)
    service.match(said())
    with host() as session:
        for row in session.scalars(select(StandingIntent)):
            assert (row.status, row.description, row.cooldown, row.is_live) == (
                Status.FIRED, "Confirm the rollback owner", DAY, True,
            )  # fmt: skip
            row.has_expired(START)
            row.has_budget(START)
        for model in (IntentTurn, IntentEvent):
            assert session.scalars(select(model)).all()
        service.using(session).list()
        service.using(session).explain(said())
        assert not session.dirty
        assert not session.new


def test_a_new_row_is_pending_before_any_flush() -> None:
    row = StandingIntent(id="x")
    assert (row.status, row.fire_count) == (Status.PENDING, 0)


# Savepoints


def test_inside_a_savepoint_the_outer_rollback_undoes_or_the_session_is_refused(
    service: IntentService, engine: Engine, host: Any
) -> None:
    """The default pysqlite transaction mode would keep what is written inside the savepoint."""
    intent = service.create(draft(), by=OWNER)
    before = written(engine)
    with host() as session:
        with session.begin_nested():
            if engine.dialect.name == "sqlite":
                with pytest.raises(UnsupportedDialect, match="begin_nested") as refusal:
                    service.using(session).match(said())
                assert "BEGIN" in refusal.value.reason, "names the remedy"
            else:
                assert ids(service.using(session).match(said())) == [intent.id]
        session.rollback()
    assert written(engine) == before


@ON_SQLITE
def test_with_an_engine_that_begins_itself_a_savepoint_is_as_good_as_any(
    make_service: Callable[..., IntentService], engine: Engine, host: Any
) -> None:
    """SQLAlchemy's recipe for pysqlite: the driver keeps out, the engine emits BEGIN."""

    @event.listens_for(engine, "connect")
    def _leave_transactions_alone(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    engine.dispose()
    if engine.url.database is None:
        metadata.create_all(engine)  # a memory database went with its connection
        HostBase.metadata.create_all(engine)
    service = make_service()
    intent = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    before = written(engine)
    with host() as session:
        with session.begin_nested():
            assert ids(service.using(session).match(said())) == [intent.id]
        session.rollback()
    assert written(engine) == before
    with host() as session:
        session.add(Order(number=1, note="kept"))
        with session.begin_nested() as savepoint:
            assert ids(service.using(session).match(said(id="m1"))) == [intent.id]
            savepoint.rollback()
        assert ids(service.using(session).match(said(id="m1"))) == [intent.id]
        session.commit()
    assert service.get(intent.id).fire_count == 1
    assert orders(engine) == ["kept"]


# Sessions of other shapes


@ON_POSTGRESQL
def test_a_rival_that_fired_first_is_waited_for_and_seen(service: IntentService, engine: Engine) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    rival_may_commit = threading.Event()
    fired = threading.Event()

    def rival() -> None:
        with Session(engine) as session:
            service.using(session).match(said(id="rival"))
            fired.set()
            rival_may_commit.wait(10)
            session.commit()

    thread = threading.Thread(target=rival)
    thread.start()
    assert fired.wait(10)
    threading.Timer(0.3, rival_may_commit.set).start()
    assert not service.match(said(id="mine"))
    thread.join()
    assert service.get(intent.id).fire_count == 1


@SHARED
@pytest.mark.parametrize("pool", [NullPool, QueuePool])
def test_a_pool_of_one_is_enough(
    engine: Engine, clock: Clock, engine_factory: Callable[..., Engine], pool: Any
) -> None:
    options = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 1} if pool is QueuePool else {}
    narrow = engine_factory(engine.url, poolclass=pool, **options)
    service = IntentService(sessionmaker(narrow), owners=OwnerPolicy(("slack:U-owner",)), clock=clock)
    intent = service.create(draft(), by=OWNER)
    assert ids(service.match(said(id="m1"))) == [intent.id]
    assert service.match(said(id="m1")).duplicate
    assert not service.match(said("hello"))
    assert service.list()
    assert service.explain(said())


def test_any_callable_may_make_the_sessions(make_service: Callable[..., Any], engine: Engine) -> None:
    made: list[Session] = []

    def sessions() -> Session:
        made.append(Session(engine, expire_on_commit=False, autoflush=False))
        return made[-1]

    service = make_service(sessions=sessions)
    intent = service.create(draft(), by=OWNER)
    assert ids(service.match(said())) == [intent.id]
    assert len(made) == 2
    assert not any(session.in_transaction() for session in made)


class _ToMysql(Session):
    """A session whose tables live in a database that the library does not know."""

    def get_bind(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(dialect=SimpleNamespace(name="mysql"))


def test_a_database_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedDialect) as refusal:
        IntentRepository(_ToMysql())
    assert refusal.value.dialect == "mysql"
    assert "sqlite" in refusal.value.reason


# A database in memory


def in_another_thread(call: Callable[[], Any]) -> Any:
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(call())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result[0]


@pytest.mark.parametrize("pool", [SingletonThreadPool, StaticPool])
def test_a_memory_database_made_in_another_thread_works_or_says_why(
    engine_factory: Callable[..., Engine], clock: Clock, pool: Any
) -> None:
    """Each thread of the default pool has a database of its own; an empty answer would hide that."""
    options = {"poolclass": pool, "connect_args": {"check_same_thread": False}}
    engine = engine_factory("sqlite://", **options)
    metadata.create_all(engine)
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(("slack:U-owner",)), clock=clock)
    intent = service.create(draft(), by=OWNER)
    answer = in_another_thread(lambda: service.match(Turn(text=SAID, identity=OWNER)))
    if isinstance(answer, BaseException):
        assert isinstance(answer, IntentsError)
        assert pool is SingletonThreadPool
        assert "pool" in str(answer)
    else:
        assert ids(answer) == [intent.id]


# Sessions that begin nothing by themselves


def test_a_factory_without_autobegin_serves_the_service(
    make_service: Callable[..., IntentService], engine: Engine
) -> None:
    service = make_service(sessions=sessionmaker(engine, autobegin=False))
    intent = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    assert [match.intent.id for match in service.match(said(SAID, id="m-1"))] == [intent.id]
    assert service.match(said(SAID, id="m-1")).duplicate
    assert len(service.match(said(SAID, id="m-2"), hold=True)) == 1
    assert service.release(said(SAID, id="m-2")) == 1
    assert service.explain(said(SAID))[0].fires
    assert not service.sweep().more
    assert service.cancel(intent.id, by=OWNER).status is Status.CANCELLED
    assert [line.event for line in service.history(intent.id)][-1] == "cancel"
    with pytest.raises(IntentNotFound):
        service.get("gone")


def test_inside_a_hosts_session_without_autobegin_the_host_begins(
    make_service: Callable[..., IntentService], engine: Engine
) -> None:
    service = make_service()
    with sessionmaker(engine, autobegin=False)() as session:
        with pytest.raises(InvalidRequestError, match=r"call session\.begin\(\)"):
            service.using(session).create(draft(), by=OWNER)
        with pytest.raises(InvalidRequestError, match=r"call session\.begin\(\)"):
            service.using(session).match(said(SAID))
        assert not session.in_transaction()
        with session.begin():
            intent = service.using(session).create(draft(), by=OWNER)
            assert len(service.using(session).match(said(SAID))) == 1
    assert service.get(intent.id).fire_count == 1
