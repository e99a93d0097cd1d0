"""The details of a job whose only detail is one limit or order, in a shorter form that the scripts read without JSON.

Most jobs with lanes have such details. Their rows are a third shorter, and each change of a job writes the row.
"""

from __future__ import annotations

import re

import msgspec

_KINDS = {"limit": "l", "order": "o"}
_NAMES = {letter: kind for kind, letter in _KINDS.items()}
_MARK = "\x01"
"""JSON does not begin with it."""
_TRACK_AT = 2
_LANE_AT = _TRACK_AT + 32
_SIMPLE = re.compile(
    r'\{"lanes":\{"track":"([0-9a-f]{32})","type":("(?:[^"\\]|\\.)*"),"priority":(-?\d+),"fair":("(?:[^"\\]|\\.)*"),'
    r'"rules":\[\{"lane":("(?:[^"\\]|\\.)*"),"kind":"(limit|order)"\}\]\}\}'
)
_quote = msgspec.json.Encoder().encode
_unquote = msgspec.json.Decoder(str).decode


def shorten(details: str | None, type: str, priority: int) -> str | None:
    """The form that is stored: the mark, the letter of the kind, the track, the lane."""
    if details is None or not details.startswith('{"lanes":'):
        return details
    found = _SIMPLE.fullmatch(details)
    if found is None:
        return details
    track, of_type, of_priority, fair, lane, kind = found.groups()
    if fair != lane or of_type != _quote(type).decode() or of_priority != str(priority):
        return details
    return f"{_MARK}{_KINDS[kind]}{track}{_unquote(lane)}"


def lengthen(stored: str | None, type: str, priority: int) -> str | None:
    """The details in the form of all stores."""
    if stored is None or not stored.startswith(_MARK):
        return stored
    lane, kind = _quote(stored[_LANE_AT:]).decode(), _NAMES[stored[1]]
    return (
        f'{{"lanes":{{"track":"{stored[_TRACK_AT:_LANE_AT]}","type":{_quote(type).decode()},"priority":{priority},'
        f'"fair":{lane},"rules":[{{"lane":{lane},"kind":"{kind}"}}]}}}}'
    )
