"""What somebody tried in order to break it, and must not come back."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from intents import (
    Identity,
    IntentCreate,
    IntentService,
    InvalidIntent,
    Invocation,
    Limits,
    OwnerPolicy,
    PromptHook,
    Turn,
    UnsupportedDialect,
)

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
IN_MEMORY = pytest.mark.parametrize("engine", ["sqlite-memory"], indirect=True)
ON_A_FILE = pytest.mark.parametrize("engine", ["sqlite-file"], indirect=True)


@pytest.fixture
def service(engine: Engine) -> IntentService:
    return IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1", "webchat:*"]))


def remind(service: IntentService, *keywords: str, **fields: object) -> str:
    draft = {"description": "Confirm the rollback owner", "trigger_keywords": list(keywords), **fields}
    return service.create(IntentCreate.model_validate(draft), by=OWNER).id


def seconds(call: Callable[[], object]) -> float:
    started = time.thread_time()
    call()
    return time.thread_time() - started


@IN_MEMORY
@pytest.mark.parametrize(("keyword", "within"), [("上海 rollback", 5), ('"上海 天气"', None)])
def test_a_long_message_without_spaces_costs_in_proportion_to_its_length(
    service: IntentService, keyword: str, within: int | None
) -> None:
    remind(service, keyword, within=within)

    def cost(times: int) -> float:
        return seconds(lambda: service.match(Turn(text="上海" * times + " rollback", identity=OWNER)))

    cost(100)
    assert cost(8000) < 60 * max(cost(500), 0.002), "sixteen times the length; quadratic would be 256 times the cost"


def test_a_web_chats_visitors_do_not_share_message_ids(service: IntentService) -> None:
    alice, bob = (Identity(provider="webchat", sender_id=name) for name in ("alice", "bob"))
    service.create(IntentCreate(description="Alice's own", trigger_keywords=["launch"]), by=alice)
    hook = PromptHook(service)
    assert hook.before_prompt(Turn(text="launch", identity=alice, id="1"), Invocation.after(30)) is not None
    assert hook.before_prompt(Turn(text="hello", identity=bob, id="1"), Invocation.after(30)) is None
    assert service.match(Turn(text="launch", identity=alice, id="1")).duplicate


def test_cleaning_a_text_of_marks_costs_in_proportion_to_its_length() -> None:
    def cost(times: int) -> float:
        def build() -> None:
            with pytest.raises(ValueError, match="description"):
                IntentCreate(description="a" + "\u0301\u0316" * times + "b" * 20_000, trigger_keywords=["x"])

        return seconds(build)

    cost(100)
    assert cost(32_000) < 60 * max(cost(2_000), 0.002)


@IN_MEMORY
@pytest.mark.parametrize(
    ("description", "limits"), [("<" * 400, Limits()), ("Confirm it " * 9, Limits(context_chars=100))]
)
def test_a_line_that_could_never_fit_is_refused_at_creation(engine: Engine, description: str, limits: Limits) -> None:
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), limits=limits)
    with pytest.raises(InvalidIntent, match="never fire"):
        remind(service, "launch", description=description)


@ON_A_FILE
def test_a_scoped_session_works_and_stays_usable(engine: Engine) -> None:
    scoped = scoped_session(sessionmaker(engine))
    service = IntentService(scoped, owners=OwnerPolicy(["slack:U1"]))
    remind(service, "launch", max_fires=2, cooldown="PT0S")
    assert len(service.using(scoped).match(Turn(text="launch", identity=OWNER, id="1"))) == 1
    scoped.commit()
    assert len(service.match(Turn(text="launch", identity=OWNER, id="2"))) == 1
    assert scoped.execute(text("SELECT status FROM standing_intents")).scalar_one() == "done"
    scoped.remove()


@ON_A_FILE
def test_a_savepoint_of_the_connection_is_refused_where_the_driver_would_keep_what_is_inside(
    engine: Engine, service: IntentService
) -> None:
    intent_id = remind(service, "launch")
    with engine.connect() as connection:
        outer = connection.begin()
        with (
            Session(bind=connection, join_transaction_mode="create_savepoint") as session,
            pytest.raises(UnsupportedDialect, match="begin_nested"),
        ):
            service.using(session).match(Turn(text="launch", identity=OWNER, id="1"))
        outer.rollback()
    assert service.get(intent_id).fire_count == 0


@pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new"], indirect=True)
@pytest.mark.parametrize("alias", ["key", "rowid", "_rowid_", "oid"])
def test_the_key_never_changes_by_whatever_name(engine: Engine, service: IntentService, alias: str) -> None:
    remind(service, "launch")
    with engine.begin() as connection, pytest.raises(IntegrityError, match="never change"):
        connection.exec_driver_sql(f"UPDATE standing_intents SET {alias} = 99")
    assert len(service.match(Turn(text="launch", identity=OWNER))) == 1


@IN_MEMORY
def test_what_the_bound_on_candidates_hides_is_explained(engine: Engine) -> None:
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), limits=Limits(candidates=2))
    for number in range(3):
        remind(service, "launch", description=f"Reminder {number}")
    turn = Turn(text="launch", identity=OWNER)
    rules = [explanation.rule for explanation in service.explain(turn)]
    assert rules == [None, None, "truncated"]
    assert [match.intent.description for match in service.match(turn)] == ["Reminder 0", "Reminder 1"]


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
@pytest.mark.parametrize("bound", ["0", "100ms", "1h"])
def test_the_lock_time_out_of_a_hosts_transaction_is_as_before(
    engine: Engine, service: IntentService, bound: str
) -> None:
    remind(service, "launch")
    with Session(engine) as session:
        session.execute(text(f"SET LOCAL lock_timeout = '{bound}'"))
        assert service.using(session).match(Turn(text="launch", identity=OWNER))
        assert session.scalar(text("SHOW lock_timeout")) == bound


@pytest.mark.parametrize("engine", ["sqlite-memory", "postgresql"], indirect=True)
def test_a_batch_larger_than_a_statement_can_name_is_refused(service: IntentService) -> None:
    for call in (service.sweep, service.reindex):
        with pytest.raises(InvalidIntent, match="batch"):
            call(limit=70_000)


def test_a_wrong_argument_gets_the_right_one_named() -> None:
    engine = create_engine("sqlite://")
    with pytest.raises(TypeError, match="sessionmaker"):
        IntentService(engine)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="OwnerPolicy"):
        IntentService(sessionmaker(engine), owners=["slack:U1"])  # type: ignore[arg-type]
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]))
    with pytest.raises(TypeError, match="Identity"):
        service.cancel("some-id", by="U1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text"):
        service.get(7)  # type: ignore[arg-type]
    engine.dispose()
