"""Standing intents: prospective memory for an assistant, as rows of your own database.

"When someone mentions the launch checklist, remind me to confirm the rollback owner": an intent is a row with triggers
that a machine can check. On every user message the library decides, in one synchronous session transaction and without
calling a model, which intents fire; the reply gets a small hidden block.
"""

from intents._version import __version__
from intents.aio import AsyncIntentService
from intents.context import Wording
from intents.errors import (
    ConcurrentUpdate,
    IntentNotFound,
    IntentsError,
    InvalidIntent,
    InvalidTrigger,
    InvocationExpired,
    NotAuthorized,
    SchemaMismatch,
    TransitionNotAllowed,
    UnsupportedDialect,
)
from intents.hook import AsyncPromptHook, PromptHook
from intents.invocation import Invocation
from intents.lifecycle import Status
from intents.migrate import check_schema, include_name, upgrade
from intents.models import IntentEvent, IntentFiring, IntentTurn, StandingIntent, metadata
from intents.policy import OwnerPolicy
from intents.repository import IntentRepository
from intents.schemas import (
    Admin,
    Explanation,
    Identity,
    IntentCreate,
    IntentEventRead,
    IntentRead,
    Limits,
    Match,
    Matches,
    SweepResult,
    Turn,
)
from intents.service import IntentService
from intents.text import Analyzer
from intents.tool import IntentTool

__all__ = [
    "Admin",
    "Analyzer",
    "AsyncIntentService",
    "AsyncPromptHook",
    "ConcurrentUpdate",
    "Explanation",
    "Identity",
    "IntentCreate",
    "IntentEvent",
    "IntentEventRead",
    "IntentFiring",
    "IntentNotFound",
    "IntentRead",
    "IntentRepository",
    "IntentService",
    "IntentTool",
    "IntentTurn",
    "IntentsError",
    "InvalidIntent",
    "InvalidTrigger",
    "Invocation",
    "InvocationExpired",
    "Limits",
    "Match",
    "Matches",
    "NotAuthorized",
    "OwnerPolicy",
    "PromptHook",
    "SchemaMismatch",
    "StandingIntent",
    "Status",
    "SweepResult",
    "TransitionNotAllowed",
    "Turn",
    "UnsupportedDialect",
    "Wording",
    "__version__",
    "check_schema",
    "include_name",
    "metadata",
    "upgrade",
]
