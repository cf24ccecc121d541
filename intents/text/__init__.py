"""From text to terms: folding, tokens, word forms. Pure: no database, no model, no clock.

The same steps are taken for what a trigger says and for what a message says:

1. `fold` makes texts that look the same equal: Unicode forms, case, width, invisible characters;
2. `tokenise` cuts the folded text into words, runs of a script without spaces, and emoji;
3. `Analyzer.forms` gives the forms under which a word is compared: two words match when they share one.
"""

from __future__ import annotations

from intents.text.analyzer import RULES, Analyzer
from intents.text.fold import fold
from intents.text.tokens import Gap, Kind, Token, tokenise

__all__ = ["RULES", "Analyzer", "Gap", "Kind", "Token", "fold", "tokenise"]
