"""The HTML of a conversation: prompts and answers as Markdown, each tool use folded to a line."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from gitcp.checkpoints.redact import images
from gitcp.extras.page import page_parts
from gitcp.extras.page.markdown import parse_markdown
from gitcp.extras.page.sessions import parse_seconds
from gitcp.extras.page.template import draw_time
from gitcp.text.spans import count_noun, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gitcp.agents.reading.turns import GatheredTurn, Part
    from gitcp.extras.page.markdown import Node
    from gitcp.extras.page.sessions import PageSession
    from gitcp.text.record_types import Record

    Clean = Callable[[Any], Any]

_SHOWN = ("text", "name", "path", "diff", "given", "ended", "result")
_LONGEST = 50_000  # characters of a result
_ABOUT = 100  # cells of what a call was given
_NAME = 160  # cells of a conversation's name
_PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_PICTURE = 400_000  # characters of base64 of one picture
_GALLERY = 1_500_000  # of all of a conversation
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
_HEADINGS = dict.fromkeys(("h1", "h2", "h3", "h5", "h6"), "h4")  # below those of the page
_SIGNS = {"+": "a", "-": "d"}  # the classes of lines


def make_anchor(session_id: str, number: int = 0) -> str:
    """The name of a conversation's place on a page, or of that of a prompt in it."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    if number:
        return f"t{digest}-{number}"
    return f"t{digest}"


def name_talk(session: PageSession) -> str:
    """What a conversation is called: its client's title, else its first prompt."""
    if session.title:
        return session.title
    for turn in session.turns:
        name = page_parts.name_prompt(turn["prompt"])
        if name:
            return shorten(name, _NAME)
    return session.agent


@dataclass(slots=True)
class _Picture:
    """An image: its media type, and its base64, in which no secret is looked for."""

    kind: str
    data: str


class Talk:
    """Draws one conversation."""

    def __init__(self, session: PageSession, clean: Clean) -> None:
        """clean redacts the strings of a value, many at once, and escapes hidden characters."""
        self._session = session
        self._clean = clean
        self._room = _GALLERY

    def draw(self) -> Markup:
        """The HTML of all turns."""
        html = Markup()
        for turn in self._session.turns:
            html += self._draw_turn(turn)
        if not html:
            return Markup("<p class=soft>The conversation is not here.</p>")
        return html

    def _draw_turn(self, turn: GatheredTurn) -> Markup:
        prompt, parts = self._clean([turn["prompt"], _list_shown(turn["parts"])])
        anchor = make_anchor(self._session.session_id, turn["number"])
        title = Markup("prompt {}").format(turn["number"])
        start = parse_seconds(turn["start"])
        if start:
            title += Markup(" · ") + draw_time(start)
        asked = draw_nodes(parse_markdown(prompt))
        answer = Markup()
        if parts and isinstance(parts[-1], dict) and parts[-1]["kind"] == "answer":
            answer = self._draw_part(parts.pop())
        steps = Markup().join(map(self._draw_part, parts))
        if steps:
            steps = Markup("<details><summary>{}</summary>{}</details>").format(
                _sum_steps(parts), steps
            )
        body = Markup("<div class=asked>{}</div>{}{}").format(asked, steps, answer)
        return Markup("<article id={}><h3>{}</h3>{}</article>").format(anchor, title, body)

    def _draw_part(self, part: Record | _Picture) -> Markup:
        if isinstance(part, _Picture):
            return self._draw_picture(part.kind, part.data)
        if part["kind"] == "answer":
            return Markup("<div>{}</div>").format(draw_nodes(parse_markdown(part.get("text", ""))))
        return self._draw_call(part)

    def _draw_call(self, call: Record) -> Markup:
        about = call.get("path") or shorten(call.get("given", ""), _ABOUT)
        head = Markup("<b>{}</b> {}").format(call.get("name", ""), about)
        body = Markup()
        diff = call.get("diff", ())
        if diff:
            head += _draw_sums(diff)
            body += Markup("<pre>{}</pre>").format(Markup().join(map(_draw_line, diff)))
        if call.get("ended"):
            head += Markup(" <em>{}</em>").format(call["ended"])
        for key in ("given", "result"):
            if call.get(key):
                body += Markup("<pre>{}</pre>").format(call[key])
        for inner in call.get("task", ()):
            body += self._draw_part(inner)
        if not body:
            return Markup("<p>{}</p>").format(head)
        return Markup("<details><summary>{}</summary>{}</details>").format(head, body)

    def _draw_picture(self, kind: str, data: str) -> Markup:
        """An image, or a text about one that is too large or not allowed."""
        if data.startswith(images.MARK.decode()) or data == images.DOT.body.decode():
            about = "a picture that gitcp.images leaves out"
        elif kind in _PICTURES and len(data) <= min(_PICTURE, self._room) and _BASE64.match(data):
            self._room -= len(data)
            address = f"data:{kind};base64,{data}"
            return Markup('<img src="{}" alt="A picture in the conversation">').format(address)
        else:
            about = f"{self._clean(kind[:40])}, {3 * len(data) / 4e6:.1f} MB, not shown"
        return Markup("<p class=soft>{}</p>").format(about)


def _list_shown(parts: Sequence[Part]) -> list[Record | _Picture]:
    """What is shown of each of parts, its texts cut."""
    shown: list[Record | _Picture] = []
    for part in parts:
        if part["kind"] == "image":
            shown.append(_Picture(part["type"], part["data"]))
            continue
        view: Record = {key: value for key, value in part.items() if key in _SHOWN and value}
        cut = len(view.get("result", "")) - _LONGEST
        if cut > 0:
            view["result"] = f"{view['result'][:_LONGEST]}\n… {cut} more characters"
        if "task" in part:
            view["task"] = _list_shown(part["task"])
        view["kind"] = part["kind"]
        shown.append(view)
    return shown


def _sum_steps(parts: Sequence[Record | _Picture]) -> str:
    calls = [part for part in parts if isinstance(part, dict) and part["kind"] == "call"]
    failed = sum([bool(call.get("ended")) for call in calls])
    text = count_noun(len(calls), "tool use")
    if failed:
        return f"{text}, {failed} failed"
    return text


def _draw_sums(diff: Sequence[Sequence[str]]) -> Markup:
    signs = [sign for sign, _ in diff]
    counts = {sign: signs.count(sign) for sign in _SIGNS}
    return Markup(" <u>+{}</u> <em>&minus;{}</em>").format(counts["+"], counts["-"])


def _draw_line(row: Sequence[str]) -> Markup:
    sign, text = row
    return Markup("<span class={}>{} {}\n</span>").format(_SIGNS.get(sign, "c"), sign, text)


def draw_nodes(nodes: Sequence[Node]) -> Markup:
    """The HTML of the nodes of parse_markdown()."""
    return Markup().join(map(_draw_node, nodes))


def _draw_node(node: Node) -> Markup:
    if isinstance(node, str):
        return escape(node)
    kind, attributes, children = node
    tag = Markup(_HEADINGS.get(kind, kind))
    if tag in ("hr", "br"):
        return Markup("<{}>").format(tag)
    link = Markup()
    if "href" in attributes:
        link = Markup(' href="{}" rel="noreferrer noopener"').format(attributes["href"])
    return Markup("<{}{}>{}</{}>").format(tag, link, draw_nodes(children), tag)
