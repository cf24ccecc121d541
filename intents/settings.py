"""What a service and a repository are set up with, in one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from intents.context import Wording
from intents.fields import ID_CHARS
from intents.policy import OwnerPolicy
from intents.sanitize import has_forbidden_id_characters
from intents.schemas import Limits
from intents.text import Analyzer

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """The machine's time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything but the session.

    Raises:
        TypeError: the owners are no `OwnerPolicy`.
        ValueError: the agent id is empty, over-long or holds control characters.
    """

    agent_id: str = "main"
    owners: OwnerPolicy = field(default_factory=OwnerPolicy)
    analyzer: Analyzer = field(default_factory=Analyzer)
    limits: Limits = field(default_factory=Limits)
    clock: Clock = system_clock
    wording: Wording = field(default_factory=Wording)

    def __post_init__(self) -> None:
        if not isinstance(self.owners, OwnerPolicy):
            raise TypeError("owners takes an OwnerPolicy, such as OwnerPolicy(['slack:U123']).")
        if not self.agent_id.strip() or len(self.agent_id) > ID_CHARS or has_forbidden_id_characters(self.agent_id):
            raise ValueError(f"agent_id must be 1 to {ID_CHARS} characters without control characters.")

    @classmethod
    def of(
        cls,
        *,
        agent_id: str,
        owners: OwnerPolicy,
        analyzer: Analyzer | None,
        limits: Limits | None,
        clock: Clock | None,
        wording: Wording | None,
    ) -> Settings:
        """Fill in the defaults for what a caller left out."""
        return cls(
            agent_id=agent_id,
            owners=owners,
            analyzer=analyzer or Analyzer(),
            limits=limits or Limits(),
            clock=clock or system_clock,
            wording=wording or Wording(),
        )

    def analyzer_version(self, language: str) -> str:
        """What a row analysed today in this language is marked with."""
        return f"{self.analyzer.version}/{language}"

    def analyzer_versions(self) -> tuple[str, ...]:
        """All marks whose rows are indexed under the terms that a turn has today."""
        return tuple(self.analyzer_version(language) for language in {*self.analyzer.languages, "und"})

    def now(self) -> datetime:
        """Read the clock once.

        Raises:
            ValueError: the injected clock returned a naive datetime.
        """
        moment = self.clock()
        if moment.tzinfo is None:
            raise ValueError("The injected clock must return an aware datetime, such as datetime.now(UTC).")
        return moment.astimezone(UTC)
