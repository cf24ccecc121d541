"""Trigger keywords: what they compile to, under which terms they are indexed, and whether a message completes them.

A keyword is an AND of its words, an intent's keywords are an OR. Nothing here needs a database or a model.
"""

from __future__ import annotations

from intents.triggers.advice import advise
from intents.triggers.anchors import anchor_candidates, choose_anchors
from intents.triggers.compiling import canonical_keywords, compile_trigger
from intents.triggers.matching import Decision, decide
from intents.triggers.model import Clause, CompiledTrigger, Entry, Join, Part
from intents.triggers.reports import EntryReport, TriggerReport, describe
from intents.triggers.turns import AnalysedTurn, analyse_turn

__all__ = [
    "AnalysedTurn",
    "Clause",
    "CompiledTrigger",
    "Decision",
    "Entry",
    "EntryReport",
    "Join",
    "Part",
    "TriggerReport",
    "advise",
    "analyse_turn",
    "anchor_candidates",
    "canonical_keywords",
    "choose_anchors",
    "compile_trigger",
    "decide",
    "describe",
]
