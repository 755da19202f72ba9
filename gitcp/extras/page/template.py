"""Fill the template of a page: all values are escaped, and a policy forbids foreign content."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from gitcp.extras.page import page_parts
from gitcp.git.records import dump_record, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitcp.extras.page.markdown import Node
    from gitcp.text.record_types import Record

SCRIPTS = ("element", "blocks", "diff", "talk", "timeline", "search", "main")
PLAIN = 2 << 20  # characters of HTML that are shown without a script
_CHUNK = 200_000  # bytes of JSON in a chunk, roughly
_LEVEL = 5  # of compression: 6 takes half as long again, and saves 2 % of the bytes
_SIGNS = {"+": "put", "-": "took"}  # the classes of rows
_HEADINGS = dict.fromkeys(("h1", "h2", "h3", "h4", "h6"), "h5")  # below those of the page


class Chunks:
    """The values that are unfolded on demand, in chunks of JSON, each of which is packed as soon as
    it is full."""

    def __init__(self) -> None:
        self._packed: list[str] = []
        self._texts: list[bytes] = []  # of the values of the last chunk
        self._size = 0
        self._read: tuple[int, list[Any]] = -1, []  # the chunk that was read last, and its values

    def store(self, value: Any) -> tuple[int, int]:
        """Store a value; return its (chunk, index)."""
        text = dump_record(value)
        if self._texts and self._size + len(text) > _CHUNK:
            self._pack_last()
        self._texts.append(text)
        self._size += len(text)
        return len(self._packed), len(self._texts) - 1

    def _pack_last(self) -> None:
        self._packed.append(pack_json(b"[" + b",".join(self._texts) + b"]"))
        self._texts, self._size = [], 0

    def read(self, chunk: int, index: int) -> Any:
        """A value that is stored; those of one chunk are read at once."""
        if self._read[0] != chunk:
            self._read = (
                chunk,
                parse_json(gzip.decompress(base64.b64decode(self.list_packed()[chunk]))),
            )
        return self._read[1][index]

    def list_packed(self) -> list[str]:
        """All chunks, packed; no value is stored afterwards in the last one."""
        if self._texts:
            self._pack_last()
        return self._packed


def pack_json(text: bytes) -> str:
    """A JSON text, compressed, in base64; the same text always gives the same."""
    return base64.b64encode(gzip.compress(text, _LEVEL, mtime=0)).decode()


def fill_template(view: Record, lists: Record, chunks: Chunks) -> str:
    """The page with view and lists.  A page with view["made"], its number, asks its server whether
    there is another one."""
    names = (*SCRIPTS, "live") if view["made"] else SCRIPTS
    style, script = _read_asset("page.css"), "".join(_read_asset(f"{name}.js") for name in names)
    settings: Any = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True}
    env = Environment(**settings, loader=FunctionLoader(_read_asset))
    env.filters["draw_nodes"] = lambda nodes: Markup("".join(map(_draw_node, nodes)))
    env.filters["draw_rows"] = lambda rows: Markup("".join(map(_draw_row, rows)))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash_text(style)}'; script-src '{_hash_text(script)}'"
    )
    policy += "; connect-src 'self'" if view["made"] else ""
    index = {**lists, "axis": view["axis"], "withPrompts": view["with_prompts"]}
    packed = {
        "chunks": Markup(page_parts.embed_json(chunks.list_packed())),
        "index": Markup(page_parts.embed_json(pack_json(dump_record(index)))),
    }
    plain = _draw_plain_parts(env.get_template("plain.html").module, lists, chunks)
    raw = {"style": Markup(style), "script": Markup(script), **packed, "plain": plain}
    return env.get_template("page.html").render(**view, **lists, **raw, policy=policy) + "\n"


def _draw_plain_parts(macros: Any, lists: Record, chunks: Chunks) -> dict[str, list[str]]:
    """The HTML of files and turns for a browser without scripts, up to PLAIN characters."""
    room = PLAIN
    plain: dict[str, list[str]] = {"files": [], "turns": []}
    for name, draw in (("turns", macros.turn), ("files", macros.file)):
        for entry in lists[name]:
            value = chunks.read(entry["chunk"], entry["index"])
            if room <= 0 or len(repr(value)) > 2 * room:
                break
            text = draw(entry, value, lists["sessions"])
            room -= len(text)
            plain[name].append(text)
    return plain


def _draw_node(node: Node) -> str:
    """The HTML of a node of parse_markdown()."""
    if isinstance(node, str):
        return str(escape(node))
    kind, attributes, children = node
    tag = _HEADINGS.get(kind, kind)
    if tag in ("hr", "br"):
        return f"<{tag}>"
    href = attributes.get("href") if tag == "a" else None
    link = "" if href is None else f' href="{escape(href)}" rel="noreferrer noopener"'
    return f"<{tag}{link}>{''.join(map(_draw_node, children))}</{tag}>"


def _draw_row(row: Sequence[Any]) -> str:
    """The HTML of a row of cut_hunks(), whose runs of text have no colours."""
    sign, runs = row[:2]
    text = escape("".join([text for _, text in runs]))
    return f'<span class="{_SIGNS.get(sign, "")}">{sign} {text}\n</span>'


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read_asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
