"""Times as a model writes them ("24h", "2 weeks", "P1D", "in 3 days", "2026-12-31") as durations and moments. Pure."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta
from typing import Final

import regex

_UNITS: Final = (
    (("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    (("m", "min", "mins", "minute", "minutes"), timedelta(minutes=1)),
    (("h", "hr", "hrs", "hour", "hours"), timedelta(hours=1)),
    (("d", "day", "days"), timedelta(days=1)),
    (("w", "wk", "wks", "week", "weeks"), timedelta(weeks=1)),
    (("mo", "mth", "mths", "month", "months"), timedelta(days=30)),
    (("y", "yr", "yrs", "year", "years"), timedelta(days=365)),
)
_UNIT: Final = {name: length for names, length in _UNITS for name in names}
_AMOUNTS: Final = {"a": 1.0, "an": 1.0, "one": 1.0}

_NUMBER: Final = r"[0-9]+(?:[.,][0-9]+)?"
_WORDED: Final = regex.compile(
    rf"(?:({_NUMBER}|(?:{'|'.join(_AMOUNTS)})(?=\s))\s*"
    rf"({'|'.join(sorted(_UNIT, key=len, reverse=True))})(?![a-z])(?:\s*,\s*|\s+and\s+|\s*))+"
)
_ISO_DURATION: Final = regex.compile(
    rf"p(?:({_NUMBER})y)?(?:({_NUMBER})m)?(?:({_NUMBER})w)?(?:({_NUMBER})d)?"
    rf"(?:t(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?)?"
)
_ISO_UNITS: Final = ("y", "mo", "w", "d", "h", "m", "s")
_ISO_DATE: Final = regex.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\s*(z|utc|gmt|[+-][0-9]{2}:?[0-9]{2})?")
_ZONE_NAME: Final = regex.compile(r"\s*(?:utc|gmt|z)$")
_SPACE_BEFORE_OFFSET: Final = regex.compile(r"\s+(?=[+-][0-9]{2}:?[0-9]{2}$)")


def parse_duration(text: str) -> timedelta:
    """Read a length of time: ``24h``, ``1h 30min``, ``2 weeks``, ``a day``, ``P1DT12H``, ``0``.

    A month counts 30 days and a year 365.

    Raises:
        ValueError: it is none; the message is the remedy.
    """
    wanted = _normal(text)
    if regex.fullmatch(r"0+", wanted):
        return timedelta(0)
    try:
        iso = _ISO_DURATION.fullmatch(wanted)
        if iso is not None and any(iso.groups()):
            pairs = zip(iso.groups(), _ISO_UNITS, strict=True)
            return sum((_length(number, unit) for number, unit in pairs if number), timedelta(0))
        worded = _WORDED.fullmatch(wanted)
        if worded is not None:
            pairs = zip(worded.captures(1), worded.captures(2), strict=True)
            return sum((_length(number, unit) for number, unit in pairs), timedelta(0))
    except OverflowError:
        raise ValueError("is too long a time") from None
    raise ValueError('must be a length of time with its unit, such as "24h", "2 weeks" or "P1D"')


def parse_moment(text: str, now: datetime) -> datetime:
    """Read a moment: an ISO date-time with its time zone, a date (the end of that day) or a time from now.

    Args:
        text: ``2026-12-31T18:00+01:00``, ``2026-12-31`` (UTC, or with an offset), ``in 3 days``, ``2 weeks``, ``P1D``.
        now: the aware current time, for the relative ones.

    Raises:
        ValueError: it is none, or has no time zone; the message is the remedy.
    """
    wanted = _normal(text)
    try:
        date = _ISO_DATE.fullmatch(wanted)
        if date is not None:
            zone = "+00:00" if date[2] in (None, "z", "utc", "gmt") else date[2]
            return datetime.fromisoformat(f"{date[1]}T00:00{zone}") + timedelta(days=1)
        moment = _iso_moment(wanted)
        if moment is None:
            return now + parse_duration(regex.sub(r"^in\s+|\s+from now$", "", wanted))
    except OverflowError:
        raise ValueError("is too far away") from None
    except ValueError:
        raise ValueError(
            "must be an ISO date-time with its time zone, an ISO date or a time from now, such as "
            '"2026-12-31T18:00:00Z", "2026-12-31" or "in 3 days"'
        ) from None
    if moment.tzinfo is None:
        raise ValueError(f'needs a time zone, such as "{moment.isoformat(timespec="minutes")}+00:00"')
    return moment


def _iso_moment(text: str) -> datetime | None:
    zoned = _SPACE_BEFORE_OFFSET.sub("", _ZONE_NAME.sub("+00:00", text))
    try:
        return datetime.fromisoformat(zoned.upper())
    except ValueError:
        return None


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _length(number: str, unit: str) -> timedelta:
    return _UNIT[unit] * _AMOUNTS[number] if number in _AMOUNTS else _UNIT[unit] * float(number.replace(",", "."))
