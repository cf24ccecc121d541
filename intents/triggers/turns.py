"""An analysed message: which terms it has, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intents.text import Analyzer, Kind, Token, fold, tokenise
from intents.text.fold import strip_accents
from intents.text.languages import STEMMERS, UNDETERMINED
from intents.text.tokens import clusters
from intents.triggers.joining import Joined, drop_affixes, is_compound, joined_words, joins_loosely
from intents.triggers.runs import Runs

Spans = Mapping[int, Iterable[int]]
"""Where something occurs: its first positions, each with the positions after it."""

_NOWHERE: Spans = {}


class AnalysedTurn:
    """One message, analysed for matching. Belongs to one thread.

    Attributes:
        terms: all index terms, over the analyzer's languages and ``und``: words in their forms, compounds also joined,
            emoji, and the characters and pairs of neighbouring characters of runs.
    """

    def __init__(self, text: str, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._reading = _Reading(tokenise(fold(text)))
        self._runs = Runs(self._reading.tokens)
        self._views: dict[str, View] = {}
        views = [self.view(language) for language in analyzer.languages]
        if all(view.tokens is not self._reading.tokens for view in views):
            # Words as written are among their forms in every language; but each language dropped some of these.
            views.append(self.view(UNDETERMINED))
        self.terms: frozenset[str] = frozenset(self._runs.terms).union(*(view.terms for view in views))

    def view(self, language: str) -> View:
        """Return the message as one language sees it.

        Args:
            language: code of any known language; in one that the analyzer was not given, `terms` may lack its forms.
        """
        if language not in STEMMERS:
            language = UNDETERMINED
        view = self._views.get(language)
        if view is None:
            tokens = drop_affixes(self._reading.tokens, language)
            reading = self._reading if tokens is self._reading.tokens else _Reading(tokens)
            view = self._views[language] = View(reading, self._runs, language, self._analyzer)
        return view


def analyse_turn(text: str, analyzer: Analyzer) -> AnalysedTurn:
    """Analyse a message for matching, at a cost linear in its length. Any string will do.

    Args:
        text: what was said; lone surrogates and NUL count as spaces.
        analyzer: the one with which the triggers were compiled.
    """
    return AnalysedTurn(text, analyzer)


class _Reading:
    """What languages that drop the same tokens share: the words, each once, and how they may be joined."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.words = {token.text for token in tokens if token.kind is not Kind.RUN}
        self.words.update(token.plain for token in tokens if token.plain)
        self.compounds: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()
        for joined in joined_words(tokens):
            if joined.loose:
                self.pairs.add((joined.left, joined.right))
            else:
                self.compounds.add(joined.word)


def _loose_forms(left: str, forms: Iterable[str]) -> list[str]:
    """Return the forms of a loose compound, given those of its last word.

    Every pair of neighbouring words is one, and stemming them all would cost as much as stemming all words over again:
    the stem of the second word behind the first one says the same.
    """
    plain = strip_accents(left)
    return [plain + form for form in forms]


class View:
    """A message as one language sees it.

    Attributes:
        tokens: what the language leaves of the message.
        terms: the index terms of its words and emoji.
    """

    def __init__(self, reading: _Reading, runs: Runs, language: str, analyzer: Analyzer) -> None:
        self.tokens = reading.tokens
        self._runs = runs
        self._language = language
        self._analyzer = analyzer
        self._spans: dict[str, dict[int, set[int]]] | None = None
        self._run_starts: dict[int, int] = {}
        forms = {word: analyzer.forms(word, language) for word in reading.words}
        terms = analyzer.forms_of(reading.compounds, language).union(*forms.values())
        for left, right in reading.pairs:
            if joins_loosely(left, language, analyzer):
                terms.update(_loose_forms(left, forms[right]))
        self.terms = terms

    def has_run(self, run: str) -> bool:
        """Tell whether a run occurs."""
        return next(self._runs.find(run), None) is not None

    def spans(self, term: str) -> Spans:
        """Return where a term of a word or emoji occurs."""
        return self._positions().get(term, _NOWHERE)

    def run_spans(self, run: str) -> Spans:
        """Return where a run occurs."""
        self._positions()
        spans: dict[int, set[int]] = {}
        for start, end in self._runs.find(run):
            spans.setdefault(self._position_of(start), set()).add(self._position_of(end - 1) + 1)
        return spans

    def _forms(self, joined: Joined) -> Iterable[str]:
        """Return the forms of a compound."""
        if not joined.loose:
            return self._analyzer.forms(joined.word, self._language)
        return _loose_forms(joined.left, self._analyzer.forms(joined.right, self._language))

    def _position_of(self, index: int) -> int:
        """Return the position of the character at an index of the runs' string."""
        token, before = self._runs.locate(index)
        return self._run_starts[token] + before

    def _positions(self) -> dict[str, dict[int, set[int]]]:
        """Number the tokens; a run counts its characters. Few messages need it."""
        if self._spans is not None:
            return self._spans
        spans: dict[str, dict[int, set[int]]] = {}

        def add(terms: Iterable[str], start: int, end: int) -> None:
            for term in terms:
                spans.setdefault(term, {}).setdefault(start, set()).add(end)

        begins: list[int] = []
        position = 0
        for token in self.tokens:
            begins.append(position)
            if token.kind is Kind.RUN:
                self._run_starts[token.start] = position
                position += len(clusters(token.text))
                continue
            position += 1
            add(self._analyzer.forms(token.text, self._language), begins[-1], position)
            if token.plain:
                add(self._analyzer.forms(token.plain, self._language), begins[-1], position)
        for joined in joined_words(self.tokens):
            if is_compound(joined, self._language, self._analyzer):
                add(self._forms(joined), begins[joined.first], begins[joined.last] + 1)
        self._spans = spans
        return spans
