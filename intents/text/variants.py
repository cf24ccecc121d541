"""Inflections that the stemmers do not reach: irregular forms, and regular ones that Snowball leaves apart.

Each rule leads from an inflected word to what may be its dictionary form, and holds for a whole class of words of its
language. A rule that leads to a word that does not exist costs nothing; what matters is that it does not lead to
another word that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# The dictionary form, then its irregular forms. Left out are forms that are as often another word: left, found, saw,
# rose, felt, ground, bound, shot, lives, leaves, data.
_ENGLISH: Final = """
become became;begin began begun;blow blew blown;break broke broken;breed bred;bring brought;build built;buy bought
catch caught;choose chose chosen;come came;deal dealt;dig dug;draw drew drawn;drink drank;drive drove driven
eat ate eaten;fall fallen;fight fought;flee fled;fly flew flown;forget forgot forgotten;forgive forgave forgiven
freeze froze frozen;get got gotten;give gave given;go went gone;grow grew grown;hang hung;hear heard;hide hid hidden
hold held;keep kept;know knew known;lay laid;lead led;learn learnt;lose lost;make made;mean meant;meet met
overcome overcame;overpay overpaid;oversee oversaw overseen;overtake overtook overtaken;pay paid;prove proven
rebuild rebuilt;repay repaid;resell resold;rewrite rewrote rewritten;ride rode ridden;ring rang;rise risen;run ran
say said;seek sought;sell sold;send sent;shake shook shaken;show shown;shrink shrank shrunk;sing sang sung
sink sank sunk;sleep slept;slide slid;speak spoke spoken;spend spent;stand stood;steal stole stolen;strike struck
swear swore sworn;sweep swept;swim swam swum;take took taken;teach taught;tell told;think thought;throw threw thrown
undergo underwent undergone;understand understood;undertake undertook undertaken;uphold upheld;wake woke woken
wear wore worn;win won;withdraw withdrew withdrawn;withhold withheld;write wrote written
alumnus alumni;appendix appendices;bacterium bacteria;child children;criterion criteria;curriculum curricula;foot feet
goose geese;half halves;index indices;knife knives;man men;matrix matrices;memorandum memoranda;mouse mice
nucleus nuclei;person people;phenomenon phenomena;quiz quizzes;shelf shelves;stimulus stimuli;syllabus syllabi
thief thieves;tooth teeth;vertex vertices;wife wives;wolf wolves;woman women
"""
_FRENCH: Final = "bail baux;oeil yeux;travail travaux;vitrail vitraux"


def _irregular(table: str) -> dict[str, str]:
    rows = [row.split() for row in table.replace("\n", ";").split(";") if row.strip()]
    return {inflected: base for base, *others in rows for inflected in others}


_IRREGULAR: Final = {"en": _irregular(_ENGLISH), "fr": _irregular(_FRENCH)}

_POLISH_CONSONANTS: Final = "bcdfghjklłmnprstwzżźśćń"
_RUSSIAN_CONSONANTS: Final = "бвгджзклмнпрстфхцчшщ"
_RULES: Final = {
    language: tuple((re.compile(pattern), replacement) for pattern, replacement in rules)
    for language, rules in {
        "de": [
            (r"^(.{5,})t$", r"\1"),  # third person: kündigt, liefert
        ],
        "en": [
            (r"^([bcdfghj-np-tv-xz]{2,}[aeiou]?)s$", r"\1"),  # plurals of abbreviations: PRs, CVEs, GPUs
            (r"us$", "u"),  # menus
            (r"ses$", "sis"),  # analyses, crises
            (r"^(.{3,})men$", r"\1man"),  # salesmen
        ],
        "es": [
            (r"c(e|é|en|es|emos)$", r"z\1"),  # realizar: realice; juez: jueces
            (r"qu(e|é|en|es|emos)$", r"c\1"),  # buscar: busque
        ],
        "fr": [
            (r"e(e?s?)$", r"é\1"),  # participles typed without accents: deploye, reportees
        ],
        "it": [
            (r"gh([ie])$", r"g\1"),  # lago: laghi; pagare: paghi
        ],
        "nl": [
            (r"^(.{5,})[td]$", r"\1"),  # betaalt, betaald
        ],
        "pl": [
            (rf"^(.{{2,}}[{_POLISH_CONSONANTS}])e([kc])$", r"\1\2"),  # fleeting vowel: zniżka, zniżek; rynek, rynku
            (r"([ae])nci$", r"\1nt"),  # klient: klienci
        ],
        "pt": [
            (r"[õo]es$", "ão"),  # reunião: reuniões
            (r"[ãa]es$", "ão"),  # pão: pães
            (r"ais$", "al"),  # jornal: jornais
            (r"[ée]is$", "el"),  # papel: papéis
            (r"[óo]is$", "ol"),  # lençol: lençóis
            (r"qu(e|ei|em|es)$", r"c\1"),  # ficar: fique
        ],
        "ru": [
            (rf"^(.{{2,}}[{_RUSSIAN_CONSONANTS}])[оеё]([кц])$", r"\1\2"),  # прививка: прививок; рынок: рынка
        ],
        "sr": [
            (r"^(.{3,})ak$", r"\1k"),  # sastanak: sastanka
            (r"^(.{3,})ак$", r"\1к"),
        ],
    }.items()
}


_DRAWN_OUT: Final = re.compile(r"([^\W\d])\1{2,}")
_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:[.,][0-9]{3})+")


def variants(language: str, word: str) -> Iterator[str]:
    """Yield the words of which a word may be an inflection, apart from those that its stem tells.

    Args:
        language: code of the language.
        word: one folded word.
    """
    if _GROUPED.fullmatch(word):
        yield word.replace(",", "").replace(".", "")  # 10,000 and 10.000 are 10000
    if _DRAWN_OUT.search(word):
        yield _DRAWN_OUT.sub(r"\1", word)  # pleaaase
        yield _DRAWN_OUT.sub(r"\1\1", word)  # freeee
    irregular = _IRREGULAR.get(language, {}).get(word)
    if irregular is not None:
        yield irregular
    for pattern, replacement in _RULES.get(language, ()):
        if pattern.search(word):
            yield pattern.sub(replacement, word)
