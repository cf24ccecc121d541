"""The DDL that SQLAlchemy has no words for: the FTS5 table and the triggers that keep it and protect the rows.

Pure text, made from the lifecycle table; `models` attaches it to the tables, so that ``metadata.create_all()`` makes
the whole schema. The migrations carry a frozen copy, and a test compares the two.
"""

from __future__ import annotations

from typing import Final

from intents.lifecycle import LIVE, allowed_moves, sql_list

INTENTS: Final = "standing_intents"
TURNS: Final = "standing_intent_turns"
FIRINGS: Final = "standing_intent_firings"
EVENTS: Final = "standing_intent_events"
FTS: Final = "standing_intents_fts"
ANCHORS: Final = "standing_intent_anchors"

#: The tables that FTS5 makes behind an ordinary table with ``columnsize = 0`` (https://sqlite.org/fts5.html).
FTS_SHADOWS: Final = tuple(f"{FTS}_{part}" for part in ("config", "content", "data", "idx"))

#: Terms reach FTS5 as ASCII letters and digits, so the plainest tokenizer can neither split nor fold them again.
CREATE_FTS: Final = (
    f"CREATE VIRTUAL TABLE {FTS} USING fts5(anchors, scope, tokenize = 'ascii', detail = 'column', columnsize = 0)"
)
#: Every small write makes a segment of its own, and a query looks each term up in every segment. Merging early keeps
#: three or four of them instead of thirteen: a third of the time of a query, at no cost for a write.
TUNE_FTS: Final = tuple(
    f"INSERT INTO {FTS} ({FTS}, rank) VALUES ('{name}', {value})"
    for name, value in (("automerge", 2), ("crisismerge", 4))
)
#: Merges segments of the index, as many pages as are asked for.
MERGE_FTS: Final = f"INSERT INTO {FTS} ({FTS}, rank) VALUES ('merge', :pages)"
#: The pages of each segment; FTS5 keeps a line for each page there.
FTS_SEGMENTS: Final = f"SELECT count(*) FROM {FTS}_idx GROUP BY segid"
DROP_FTS: Final = f"DROP TABLE IF EXISTS {FTS}"


def _moves() -> str:
    return " OR\n    ".join(
        f"(OLD.status = '{source.value}' AND NEW.status = '{target.value}')" for source, target in allowed_moves()
    )


def sqlite_triggers() -> dict[str, str]:
    """Return the SQLite triggers by name.

    Four protect the intents against raw SQL (no status change outside the lifecycle table, no change of an identity, no
    insert or update that would replace a row), four keep the full-text index in step with live rows, four protect the
    turns and firings, two keep the log append-only. ``OR REPLACE`` is what most of the guards are for: it deletes the
    row in the way without firing a trigger.
    """
    live = sql_list(LIVE)
    index_row = f"INSERT OR REPLACE INTO {FTS} (rowid, anchors, scope) VALUES (NEW.key, NEW.anchors, NEW.scope);"
    unindex_row = f"DELETE FROM {FTS} WHERE rowid = OLD.key;"
    bodies = {
        f"{INTENTS}_guard_status": (
            f"BEFORE UPDATE OF status ON {INTENTS}\n"
            f"WHEN NEW.status IS NOT OLD.status AND NOT (\n    {_moves()}\n)\n"
            f"BEGIN SELECT RAISE(ABORT, '{INTENTS}: this status change is not in the lifecycle table'); END"
        ),
        f"{INTENTS}_guard_identity": (
            f"BEFORE UPDATE ON {INTENTS}\n"
            "WHEN NEW.key IS NOT OLD.key OR NEW.id IS NOT OLD.id\n"
            f"BEGIN SELECT RAISE(ABORT, '{INTENTS}: key and id never change'); END"
        ),
        f"{INTENTS}_guard_insert": (
            f"BEFORE INSERT ON {INTENTS}\n"
            f"WHEN EXISTS (SELECT 1 FROM {INTENTS} WHERE key = NEW.key)\n"
            f"    OR EXISTS (SELECT 1 FROM {INTENTS} WHERE id = NEW.id)\n"
            f"    OR (NEW.status IN ({live}) AND EXISTS (\n"
            f"        SELECT 1 FROM {INTENTS} WHERE agent_id = NEW.agent_id AND fingerprint = NEW.fingerprint\n"
            f"        AND status IN ({live})))\n"
            f"BEGIN SELECT RAISE(ABORT, '{INTENTS}: this row exists and is never replaced'); END"
        ),
        f"{INTENTS}_guard_twin": (
            f"BEFORE UPDATE OF agent_id, fingerprint ON {INTENTS}\n"
            f"WHEN NEW.status IN ({live}) AND EXISTS (\n"
            f"    SELECT 1 FROM {INTENTS} WHERE agent_id = NEW.agent_id AND fingerprint = NEW.fingerprint\n"
            f"    AND status IN ({live}) AND key <> OLD.key)\n"
            f"BEGIN SELECT RAISE(ABORT, '{INTENTS}: this row exists and is never replaced'); END"
        ),
        f"{INTENTS}_index_insert": (f"AFTER INSERT ON {INTENTS}\nWHEN NEW.status IN ({live})\nBEGIN {index_row} END"),
        f"{INTENTS}_index_update": (
            f"AFTER UPDATE OF anchors, scope, status ON {INTENTS}\n"
            f"WHEN NEW.status IN ({live}) AND (OLD.status NOT IN ({live})\n"
            "    OR NEW.anchors IS NOT OLD.anchors OR NEW.scope IS NOT OLD.scope)\n"
            f"BEGIN {index_row} END"
        ),
        f"{INTENTS}_index_retire": (
            f"AFTER UPDATE OF status ON {INTENTS}\n"
            f"WHEN OLD.status IN ({live}) AND NEW.status NOT IN ({live})\nBEGIN {unindex_row} END"
        ),
        f"{INTENTS}_index_delete": (f"AFTER DELETE ON {INTENTS}\nWHEN OLD.status IN ({live})\nBEGIN {unindex_row} END"),
        f"{TURNS}_guard_insert": (
            f"BEFORE INSERT ON {TURNS}\n"
            f"WHEN EXISTS (SELECT 1 FROM {TURNS} WHERE key = NEW.key)\n"
            f"BEGIN SELECT RAISE(ABORT, '{TURNS}: this row exists and is never replaced'); END"
        ),
        # Passed over, not refused: with ON CONFLICT DO NOTHING the library itself asks who was first.
        f"{TURNS}_guard_repetition": (
            f"BEFORE INSERT ON {TURNS}\n"
            f"WHEN EXISTS (SELECT 1 FROM {TURNS} WHERE agent_id = NEW.agent_id AND turn_key = NEW.turn_key)\n"
            "BEGIN SELECT RAISE(IGNORE); END"
        ),
        f"{TURNS}_guard_identity": (
            f"BEFORE UPDATE OF key, agent_id, turn_key ON {TURNS}\n"
            "WHEN NEW.key IS NOT OLD.key OR NEW.agent_id IS NOT OLD.agent_id OR NEW.turn_key IS NOT OLD.turn_key\n"
            f"BEGIN SELECT RAISE(ABORT, '{TURNS}: key, agent_id and turn_key never change'); END"
        ),
        f"{FIRINGS}_guard_insert": (
            f"BEFORE INSERT ON {FIRINGS}\n"
            f"WHEN EXISTS (SELECT 1 FROM {FIRINGS} WHERE key = NEW.key)\n"
            f"BEGIN SELECT RAISE(ABORT, '{FIRINGS}: this row exists and is never replaced'); END"
        ),
        f"{EVENTS}_guard_insert": (
            f"BEFORE INSERT ON {EVENTS}\n"
            f"WHEN EXISTS (SELECT 1 FROM {EVENTS} WHERE key = NEW.key)\n"
            f"BEGIN SELECT RAISE(ABORT, '{EVENTS}: the log is append-only'); END"
        ),
        f"{EVENTS}_guard_update": (
            f"BEFORE UPDATE ON {EVENTS}\nBEGIN SELECT RAISE(ABORT, '{EVENTS}: the log is append-only'); END"
        ),
    }
    return {name: f"CREATE TRIGGER {name}\n{body}" for name, body in bodies.items()}


#: PostgreSQL's trigger functions, by name: dropped with the tables that use them.
POSTGRESQL_FUNCTIONS: Final = (f"{INTENTS}_guard", f"{EVENTS}_guard")


def postgresql_triggers() -> list[str]:
    """Return the statements that make PostgreSQL refuse the same moves.

    PostgreSQL has no ``INSERT OR REPLACE``; its unique constraints refuse what SQLite needs a trigger for.
    """
    guard, log_guard = POSTGRESQL_FUNCTIONS
    return [
        f"""CREATE FUNCTION {guard}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.key <> OLD.key OR NEW.id <> OLD.id THEN
        RAISE EXCEPTION '{INTENTS}: key and id never change' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status <> OLD.status AND NOT (
        {_moves()}
    ) THEN
        RAISE EXCEPTION '{INTENTS}: this status change is not in the lifecycle table' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$""",
        f"CREATE TRIGGER {guard} BEFORE UPDATE OF key, id, status ON {INTENTS} FOR EACH ROW EXECUTE FUNCTION {guard}()",
        f"""CREATE FUNCTION {log_guard}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{EVENTS}: the log is append-only' USING ERRCODE = 'check_violation';
END $$""",
        f"CREATE TRIGGER {log_guard} BEFORE UPDATE ON {EVENTS} FOR EACH ROW EXECUTE FUNCTION {log_guard}()",
    ]
