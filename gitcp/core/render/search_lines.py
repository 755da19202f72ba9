"""Draw the lines of `gitcp search`: a paragraph for each turn, with matches in colour."""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.render.spans import SHORTEST, count_noun, join_words, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.render.spans import Ago, Line

    Hit = Mapping[str, Any]

_PROMPT = 72
_COMPACT = 200  # bytes of a line of --compact


def draw_hits(listed: Sequence[Hit], left: int, ago: Ago) -> Iterator[Line]:
    """The hits, and the commands to type next; left: the number of further hits."""
    for hit in listed:
        yield from _draw_hit(hit, ago)
        yield []
    if left:
        yield [(f"{count_noun(left, 'more turn')}: -n shows more", "dim")]
    hint = "'gitcp show <checkpoint>' shows a conversation, 'gitcp resume <commit>' opens it again"
    yield [(hint, "dim")]


def _draw_hit(hit: Hit, ago: Ago) -> Iterator[Line]:
    (commit, checkpoint), name = _find_link(hit), name_turn(hit)
    yield [
        (commit["oid"][:7] if commit else "not committed", "yellow" if commit else "dim"),
        (f"  {ago(hit['time'])}  " if hit["time"] else "  ", "dim"),
        (hit["agent"] or "Agent", "green"),
        (f" {name}", "cyan"),
        (f"  checkpoint {checkpoint}" if checkpoint else "", "dim"),
    ]
    if commit:
        note = "" if commit["live"] else "  (on no branch)"
        yield [("    ", ""), (shorten(commit["message"], _PROMPT), "bold"), (note, "dim")]
    snippet = [*_split_snippet(hit["snippet"])]
    piece = "".join(text for text, _ in snippet).removesuffix("…")
    if piece and join_words(hit["prompt"]).startswith(join_words(piece)):
        yield [("    > ", "dim"), *snippet]
        return
    if hit["prompt"]:
        yield [("    > ", "dim"), (shorten(hit["prompt"], _PROMPT), "")]
    if hit["snippet"]:
        yield [("      ", ""), *snippet]


def _find_link(hit: Hit) -> tuple[Mapping[str, Any] | None, str]:
    """(the first commit of a turn, its checkpoint); for a turn without a commit its last
    checkpoint, '' for none."""
    if hit["commits"]:
        return hit["commits"][0], hit["commits"][0]["checkpoint_id"]
    return None, next(reversed(hit["checkpoint_ids"]), "")


def _split_snippet(snippet: str) -> Iterator[tuple[str, str]]:
    """The parts of a snippet; matches, between \\1 and \\2, in colour."""
    text, *marked = snippet.split("\1")
    yield text, ""
    for part in marked:
        match, _, text = part.partition("\2")
        yield match, "red"
        yield text, ""


def name_turn(hit: Hit) -> str:
    """The name of a turn: the beginning of its session's id, and its prompt's number."""
    return f"{hit['session_id'][:SHORTEST]} #{hit['number']}"


def format_compact(hit: Hit) -> str:
    """A hit as one line of JSON of at most 200 bytes: ids, files, snippet."""
    commit, checkpoint = _find_link(hit)
    row: dict[str, Any] = {"turn": name_turn(hit)}
    row |= {"commit": commit["oid"][:7]} if commit else {}
    row |= {"checkpoint": checkpoint} if checkpoint else {}
    text = (hit["snippet"] or hit["prompt"]).replace("\1", "").replace("\2", "")
    files = list(hit["files"])
    while True:
        line = json.dumps({**row, "files": files, "text": text})
        over = len(line.encode()) - _COMPACT
        if over <= 0 or not (text or files):
            return line
        if files and len(json.dumps(files)) > _COMPACT // 2:
            files.pop()
        else:
            text = text[: -max(1, over // 6)] if text else files.pop() and ""
