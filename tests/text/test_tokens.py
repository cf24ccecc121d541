"""What is one token, what two, and what stands between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intents.text import Gap, Kind, fold, tokenise
from intents.text import tokens as module
from intents.text.tokens import clusters


def cut(text: str) -> list[str]:
    return [token.text for token in tokenise(fold(text))]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the release, candidate!", ["the", "release", "candidate"]),
        ("don't", ["don", "t"]),
        ("l'équipe", ["l", "équipe"]),
        ("roll-back", ["roll", "back"]),
        ("roll–back", ["roll", "back"]),
        ("release_candidate", ["release", "candidate"]),
        ("CI/CD", ["ci", "cd"]),
        ("example.com", ["example", "com"]),
        ("rel:cand", ["rel", "cand"]),
        ("ops@example.com", ["ops", "example", "com"]),
        ("v2.0 v2.0.1.", ["v2.0", "v2.0.1"]),
        ("1,000.50, 3", ["1,000.50", "3"]),
        ("10:30", ["10", "30"]),
        ("C++ c# F#, C++17", ["c++", "c#", "f#", "c++", "17"]),
        ("C# C#8", ["c#", "c#", "8"]),
        ("issue#42 #tag @alice $PATH", ["issue", "42", "tag", "alice", "path"]),
        (".NET (.env) ASP.NET ...net", [".net", ".env", "asp", "net", "net"]),
        ("notepad++", ["notepad++"]),
        ("P0故障", ["p0", "故障"]),
        ("iPhone充电器", ["iphone", "充电器"]),
        ("佐々木さん", ["佐々木さん"]),
        ("サーバー", ["サーバー"]),
        ("릴리즈를 확인", ["릴리즈를", "확인"]),
        ("🚨🚨", ["🚨", "🚨"]),
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),
        ("👩\u200d💻", ["👩", "💻"]),
        ("हिन्दी", ["हिन्दी"]),
        ("\u0301\u0301", []),
        ("??? ... «»", []),
    ],
)
def test_text_is_cut_into_tokens(text: str, tokens: list[str]) -> None:
    assert cut(text) == [fold(token) for token in tokens]


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("a b", Gap.SPACE),
        ("a \n b", Gap.SPACE),
        ("a-b", Gap.HYPHEN),
        ("a_b", Gap.HYPHEN),
        ("a\u2011b", Gap.HYPHEN),
        ("a’b", Gap.APOSTROPHE),
        ("a.b", Gap.LINK),
        ("a/b", Gap.LINK),
        ("a, b", Gap.BREAK),
        ("a - b", Gap.BREAK),
        ("c++17", Gap.NONE),
        ("a上", Gap.NONE),
    ],
)
def test_the_gap_before_a_token_is_named(text: str, gap: Gap) -> None:
    first, second = tokenise(fold(text))
    assert (first.gap, second.gap) == (Gap.BREAK, gap)


def test_kinds() -> None:
    assert [token.kind for token in tokenise("a1上海🚀")] == [Kind.WORD, Kind.RUN, Kind.EMOJI]


@pytest.mark.parametrize(
    ("text", "plain"), [(".net", "net"), ("alice++", "alice"), ("c++", ""), ("c#", ""), ("net", "")]
)
def test_a_symbol_that_may_be_mere_punctuation_leaves_the_word_findable(text: str, plain: str) -> None:
    assert [token.plain for token in tokenise(text)] == [plain]


@given(st.text(st.sampled_from("ab1+#.,-_/'上é🚀 ((::\n"), max_size=30))
def test_the_fast_patterns_cut_as_the_full_one_does(text: str) -> None:
    folded = fold(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ASCII", module._MIXED)
        patch.setattr(module, "_SPACED", module._MIXED)
        full = tokenise(folded)
    assert tokenise(folded) == full


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
def test_tokens_lie_in_the_text_in_order(text: str) -> None:
    folded = fold(text)
    end = 0
    for token in tokenise(folded):
        assert folded[token.start : token.end] == token.text
        assert token.start >= end
        end = token.end


def test_clusters_keep_marks_with_their_letter() -> None:
    assert clusters("ที่นี่") == ["ที่", "นี่"]
