"""The conversations of a page: turns with their parts as the script shows them, and anchors."""

from __future__ import annotations

import hashlib
import re
from itertools import count

from gitcp.checkpoints.redact import images
from gitcp.extras.page.markdown import parse_markdown
from gitcp.extras.page.page_parts import take_line
from gitcp.terminal.usage import format_usage
from gitcp.text import prompt_text
from gitcp.text.spans import count_noun, shorten
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.turns import Part
    from gitcp.text.record_types import Record

# The keys of an answer and of a call that the script shows, besides the result.
_SHOWN = ("text", "name", "path", "diff", "given", "ended")
_PROMPT_WIDTH = 160  # cells of a prompt's first line
_LONG, _LONGEST = 1000, 50_000  # characters of a result
_PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_PICTURE, _GALLERY = 400_000, 1_500_000  # characters of base64 of one picture, of all
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
_NO_PROMPT = "(no prompt)"


class Talk:
    """Makes the views of a conversation's turns, and finds the anchors of turns and calls."""

    def __init__(self, clean: Callable[[Any], Any], keep: Callable[[Any], tuple[int, int]]) -> None:
        """clean redacts the strings of a value, many at once, and escapes hidden characters.  keep
        stores a value and returns (chunk, index)."""
        self._clean, self._keep = clean, keep
        self._room = _GALLERY
        self._results: dict[bytes, Record] = {}  # digest of a long result -> where it is stored
        self._numbers = count()  # of calls
        self._calls: dict[tuple[str, str], tuple[str, str]] = {}  # session, tool use -> turn, call
        self._prompts: dict[str, dict[int, str]] = {}  # session -> number -> prompt
        self._asked: dict[tuple[str, str], str] = {}  # session, prompt -> turn

    def add_turn(self, session: str, turn: Mapping[str, Any], agent: str) -> tuple[Record, Record]:
        """(the view of a turn, the value that is unfolded on demand)."""
        name = _name_turn(session, turn["number"])
        prompt, shown = self._clean([turn["prompt"], self._list_shown(turn["parts"])])
        self._prompts.setdefault(session, {})[turn["number"]] = turn["prompt"]
        self._asked.setdefault((session, prompt.strip()), name)
        start, end = parse_seconds(turn["start"]), parse_seconds(turn["end"])
        count = len(turn["ticks"])
        facts = [
            count_noun(count, "tool use") if count else "",
            format_span(end - start) if start and end > start else "",
            format_usage(turn["spent"], agent) if turn["spent"] else "",
        ]
        view = {
            "id": name,
            "number": turn["number"],
            "line": shorten(take_line(prompt), _PROMPT_WIDTH) or _NO_PROMPT,
            "facts": ", ".join(filter(None, facts)),
            "start": start,
            "end": end,
            "ticks": [t for t in map(parse_seconds, turn["ticks"]) if t],
        }
        parts = self._build_parts(turn["parts"], shown, session, name)
        return view, {"prompt": parse_markdown(prompt), "parts": parts}

    def _list_shown(self, parts: Sequence[Part]) -> list[Record]:
        """What the page shows of each of parts, and a result as _build_result() needs it."""
        shown: list[Record] = []
        for part in parts:
            view: Record = {k: v for k, v in part.items() if k in _SHOWN and v}
            result = part.get("result", "")
            if result and (len(result) < _LONG or _digest(result) not in self._results):
                view["result"] = result[:_LONGEST]
            if "task" in part:
                view["task"] = self._list_shown(part["task"])
            shown.append(view)
        return shown

    def _build_parts(
        self, parts: Sequence[Part], shown: Sequence[Record], session: str, turn: str
    ) -> list[Record]:
        """The views of parts.  shown: _list_shown() of them, cleaned."""
        views: list[Record] = []
        for part, view in zip(parts, shown, strict=True):
            if part["kind"] == "image":
                views.append(self._build_picture(part["type"], part["data"]))
                continue
            if part["kind"] == "answer":
                views.append({"text": parse_markdown(view.get("text", ""))})
                continue
            call = f"call-{session}-{next(self._numbers)}"
            for key in part["ids"]:
                self._calls.setdefault((session, key), (turn, call))
            if part.get("result"):
                view["result"] = self._build_result(part["result"], view.get("result", ""))
            if lines := part.get("diff", ()):
                view["plus"] = sum(sign == "+" for sign, _ in lines)
                view["minus"] = sum(sign == "-" for sign, _ in lines)
            if "path" not in view:
                view["about"] = shorten(view.get("given", ""), 100)
            if "task" in part:
                view["task"] = self._build_parts(part["task"], view["task"], session, turn)
            views.append({**view, "id": call})
        return views

    def _build_picture(self, kind: str, data: str) -> Record:
        """The view of an image, or a text about one that is too large or not allowed."""
        if data.startswith(images.MARK.decode()) or data == images.DOT[1].decode():
            return {"image": "", "about": "a picture that gitcp.images leaves out"}
        if kind in _PICTURES and len(data) <= min(_PICTURE, self._room) and _BASE64.match(data):
            self._room -= len(data)
            return {"image": f"data:{kind};base64,{data}"}
        size = f"{3 * len(data) / 4e6:.1f} MB"
        return {"image": "", "about": f"{self._clean(kind[:40])}, {size}, not shown"}

    def _build_result(self, text: str, cleaned: str) -> Any:
        """The cleaned text of a result; {chunk, index} of a long one, which is stored once."""
        if len(text) < _LONG:
            return cleaned
        if (digest := _digest(text)) not in self._results:
            cut = len(text) - _LONGEST
            note = f"\n… {cut} more characters" if cut > 0 else ""
            chunk, index = self._keep(cleaned + note)
            self._results[digest] = {"chunk": chunk, "index": index}
        return self._results[digest]

    def find_writer(self, session: str, author: Mapping[str, Any]) -> tuple[str, str]:
        """The anchors of the (turn, call) that wrote a line; '' if it is not on the page."""
        call = session, author["tool_use_id"] or ""
        if call in self._calls:
            return self._calls[call]
        number = prompt_text.find_number(self._prompts.get(session, {}), author)
        return _name_turn(session, number) if number else "", ""

    def find_asked(self, session: str, prompt: str) -> str:
        """The anchor of the turn that a prompt began, '' for none."""
        return self._asked.get((session, prompt), "")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _name_turn(session: str, number: int) -> str:
    return f"turn-{session}-{number}"


def make_key(name: str) -> str:
    """Make a name for anchors from any text."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:10]


def parse_seconds(stamp: object) -> float:
    """Seconds since 1970, from an ISO time or milliseconds since 1970; 0 for anything else."""
    text = stamp if isinstance(stamp, str) else ""
    return int(text) / 1000 if text.isdecimal() else parse_time(text)


def format_span(span: float) -> str:
    """Format seconds, as in `40 s`, `12 min`, `3 h 5 min`, `2 days`."""
    if span < 90:
        return f"{span:.0f} s"
    minutes = round(span / 60)
    if minutes < 120:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return count_noun(round(minutes / 1440), "day")
