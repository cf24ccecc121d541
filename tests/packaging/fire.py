"""A host's first fire, by the public face alone: ``python fire.py URL``; the schema is there already."""

import sys
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

import intents

assert Path(intents.__file__).is_relative_to(sys.prefix), f"not the installed package: {intents.__file__}"
assert version("standing-intents") == intents.__version__

engine = create_engine(sys.argv[1])
intents.check_schema(engine)
service = intents.IntentService(sessionmaker(engine), owners=intents.OwnerPolicy(["slack:U1"]))
mira = intents.Identity(provider="slack", sender_id="U1", conversation_id="C1")
draft = intents.IntentCreate(description="Confirm the owner.", trigger_keywords=["release candidate"])
service.create(draft, by=mira)
turn = intents.Turn(text="Release candidates are up", identity=mira, id="m1")
print(intents.PromptHook(service).before_prompt(turn, intents.Invocation.after(10.0)))
assert [event.event for event in service.history(service.list()[0].id)] == ["create", "arm", "fire"]
