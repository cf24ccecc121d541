"""What is measured: databases of intents, and turns that meet them in a certain way.

Turns are made of invented words whose frequencies follow Zipf's law, as those of natural text do, and of what a
workload wants said. Both together have the length asked for.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.orm import sessionmaker

from benchmarks.loading import OWNER, START, Block, Family, expire_rows, fill, fire_rows, sqlite_engine
from intents import Identity, IntentService, Limits, OwnerPolicy, Turn
from intents.repository.work import BATCH

LIMITS: Final = Limits(cooldown=timedelta(0), max_fires=1000)
SHARED: Final = Family("deployment review topic{n}ou")
OWN: Final = Family("handover{n}ou checklist{n}ou")
CROWDED: Final = Family("deployment review", conversation="C{n}", settles=4096)
AGENTS: Final = 100
LIVE_BESIDE_RETIRED: Final = 1_000
RETIRED: Final = 500_000


def service_of(engine: Engine, clock: Callable[[], datetime] = lambda: START, agent_id: str = "main") -> IntentService:
    """A service whose owner is `OWNER`."""
    return IntentService(
        sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), limits=LIMITS, clock=clock, agent_id=agent_id
    )


def own(size: int) -> int:
    """How many intents of a mixed database have words of their own."""
    return min(5, size // 2)


def mixed_blocks(size: int) -> list[Block]:
    """All share their first two words, but for five in the middle that have words of their own."""
    shared = size - own(size)
    return [
        Block(SHARED, range(shared // 2)),
        Block(OWN, range(own(size))),
        Block(SHARED, range(shared // 2, shared)),
    ]


def agent_blocks(size: int) -> list[Block]:
    """A hundred agents with the same number of intents each, numbered through."""
    agents = min(AGENTS, size)
    return [Block(SHARED, range(at * size // agents, (at + 1) * size // agents), f"agent-{at}") for at in range(agents)]


class Shelf:
    """Filled databases of a run, each made once.

    Args:
        folder: where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies = itertools.count()

    def file(self, kind: str, size: int) -> Path:
        """Return the file of a kind and size; not to be written to."""
        path = self._folder / f"{kind}-{size}.db"
        if not path.exists():
            _KINDS[kind](self, path, size)
        return path

    def copy(self, kind: str, size: int) -> Path:
        """Return a copy to work on."""
        source = self.file(kind, size)
        path = self._folder / f"{kind}-{size}-copy{next(self._copies)}.db"
        shutil.copyfile(source, path)
        return path

    def empty(self) -> Path:
        """Return the path of a file that is not there yet."""
        return self._folder / f"empty-{next(self._copies)}.db"

    def remove(self, path: Path) -> None:
        """Delete a file and what SQLite put beside it."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)

    def forget(self, kind: str, sizes: Sequence[int]) -> None:
        """Delete files that are no longer needed."""
        for size in sizes:
            self.remove(self._folder / f"{kind}-{size}.db")

    def _cooling(self, path: Path, size: int) -> None:
        shutil.copyfile(self.file("mixed", size), path)
        fire_rows(path, every=2, rearm_at=START + timedelta(days=1))

    def _retired(self, path: Path, size: int) -> None:
        fill(path, [Block(SHARED, range(size + LIVE_BESIDE_RETIRED))])
        expire_rows(path, up_to=size, at=START)
        engine = sqlite_engine(path)
        service = service_of(engine)
        while service.sweep(limit=BATCH).more:
            pass
        engine.dispose()


_KINDS: Final[dict[str, Callable[[Shelf, Path, int], object]]] = {
    "mixed": lambda _, path, size: fill(path, mixed_blocks(size)),
    "cooling": Shelf._cooling,
    "crowded": lambda _, path, size: fill(path, [Block(CROWDED, range(size))]),
    "agents": lambda _, path, size: fill(path, agent_blocks(size)),
    "retired": Shelf._retired,
}


@dataclass(frozen=True, slots=True)
class Saying:
    """What a turn says besides other words, and where."""

    text: str = ""
    conversation: str = "C1"


#: What a turn says: from the number of intents, the number of the round and the words of the turn.
Says = Callable[[int, int, int], Saying]


@dataclass(frozen=True, slots=True)
class Workload:
    """Turns of one kind.

    Attributes:
        name: its letter, and what distinguishes it.
        title: what happens, in words.
        kind: the database, by its name on the shelf.
        fires: how many intents such a turn fires.
        says: what the turn says.
        agent: whose intents it meets.
    """

    name: str
    title: str
    kind: str
    fires: int
    says: Says
    agent: str = "main"

    def turn(self, talk: Talk, size: int, words: int, number: int) -> Turn:
        """Make the turn of a round."""
        saying = self.says(size, number, words)
        identity = Identity(provider=OWNER.provider, sender_id=OWNER.sender_id, conversation_id=saying.conversation)
        return talk.turn(
            words, said=saying.text, turn_id=f"{self.name}-{words}-{talk.seed}-{number}", identity=identity
        )


def _topics(size: int, number: int, words: int) -> Saying:
    shared = size - own(size)
    many = min(words * 2 // 3, 200, shared)
    chosen = dict.fromkeys((number * 37 + at * 7919) % shared for at in range(many))
    return Saying("deployment " + " ".join(f"topic{each}ou" for each in chosen))


def _complete(number: int) -> Saying:
    return Saying(f"deployment review of topic{number}ou")


def _row_number(key: int, size: int) -> int:
    """The number of the shared intent whose row has this key, counted past those with words of their own."""
    return key - 1 if key - 1 < (size - own(size)) // 2 else key - 1 - own(size)


def _cooling(size: int, number: int, _words: int) -> Saying:
    half = (size - own(size)) // 2
    numbers = dict.fromkeys(_row_number(2 * (1 + (number + at) % max(1, half // 2)), size) for at in range(5))
    return Saying("deployment review of " + " ".join(f"topic{each}ou" for each in numbers))


def _says(saying: Saying) -> Says:
    return lambda _size, _number, _words: saying


def _newest(size: int, number: int, _words: int) -> Saying:
    return _complete(size - own(size) - 1 - number % 2)


def _oldest(_size: int, number: int, _words: int) -> Saying:
    return _complete(number % 2)


def _other_words(size: int, number: int, _words: int) -> Saying:
    first, second = OWN.keyword.format(n=number % own(size)).split()
    return Saying(f"the {first} and the {second}")


def _youngest(size: int, number: int, _words: int) -> Saying:
    return _complete(size - 1 - number % 2)


def _own_conversation(size: int, number: int, _words: int) -> Saying:
    return Saying(CROWDED.keyword, f"C{size - 1 - number % 2}")


def _retired_one(retired: int, number: int, _words: int) -> Saying:
    """Without retired rows, a topic that nobody has."""
    return _complete(number % retired if retired else LIVE_BESIDE_RETIRED + number)


def _live_one(retired: int, number: int, _words: int) -> Saying:
    return _complete(retired + number % 2)


MAIN: Final = (
    Workload("a", "no word in common", "mixed", 0, _says(Saying())),
    Workload("b", "many words in common, nothing complete", "mixed", 0, _topics),
    Workload("c-newest", "the newest of all that share a word", "mixed", 1, _newest),
    Workload("c-oldest", "the oldest of all that share a word", "mixed", 1, _oldest),
    Workload("d", "one complete entry of other words", "mixed", 1, _other_words),
)
OTHERS: Final = (
    Workload("e", "half of the rows cool down, five of them complete", "cooling", 0, _cooling),
    Workload("e-hit", "half of the rows cool down, one other complete", "cooling", 1, _says(_complete(0))),
    Workload(
        "f",
        "the same trigger in every conversation but this",
        "crowded",
        0,
        _says(Saying(CROWDED.keyword, "elsewhere")),
    ),
    Workload("f-hit", "the same trigger in every conversation", "crowded", 1, _own_conversation),
    Workload("g", "a hundred agents, another one's trigger complete", "agents", 0, _youngest, "agent-0"),
    Workload("g-hit", "a hundred agents, one of this complete", "agents", 1, _says(_complete(0)), "agent-0"),
)
BESIDE_RETIRED: Final = (
    Workload("h", "1,000 live beside retired, a retired one complete", "retired", 0, _retired_one),
    Workload("h-hit", "1,000 live beside retired, a live one complete", "retired", 1, _live_one),
)


@cache
def _vocabulary(count: int) -> tuple[list[str], list[float]]:
    # The words are the same whatever the seed of a talk: people do not change their language between two databases.
    letters = random.Random(0)
    words = [f"{''.join(letters.choices('bdfgklmnprstv', k=3))}{number}ou" for number in range(count)]
    return words, list(itertools.accumulate(1 / (rank + 1) for rank in range(count)))


class Talk:
    """Turns of invented words whose frequencies follow Zipf's law, as those of natural text do."""

    def __init__(self, *, seed: int = 1, vocabulary: int = 20_000) -> None:
        self.seed = seed
        self._chance = random.Random(seed)
        self.vocabulary, self._weights = _vocabulary(vocabulary)

    def words(self, count: int) -> list[str]:
        """Draw words."""
        return self._chance.choices(self.vocabulary, cum_weights=self._weights, k=count)

    def turn(self, count: int, *, said: str = "", turn_id: str | None = None, identity: Identity = OWNER) -> Turn:
        """Draw a turn of `count` words that ends in what is said."""
        words = self.words(max(0, count - len(said.split())))
        return Turn(text=" ".join([*words, said]), identity=identity, id=turn_id)


def open_copy(shelf: Shelf, kind: str, size: int, module: Any = None) -> tuple[Path, Engine]:
    """Copy a database and open it as hosts do."""
    path = shelf.copy(kind, size)
    return path, sqlite_engine(path, module)
