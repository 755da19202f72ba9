"""Fill the template of a page: all values are escaped, and a policy forbids foreign content."""

from __future__ import annotations

import base64
import hashlib
import os

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from gitcp.core import page_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitcp.core.record_types import Record

SCRIPTS = ("element", "blocks", "diff", "talk", "timeline", "search", "main")
PLAIN = 2 << 20  # characters of HTML that are shown without a script


def fill_template(view: Record, lists: Record, chunks: Sequence[Any]) -> str:
    """The page with view and lists; chunks, which are unfolded on demand, are compressed.  A page
    with view["made"], its number, asks its server whether there is another one."""
    names = (*SCRIPTS, "live") if view["made"] else SCRIPTS
    style, script = _read_asset("page.css"), "".join(_read_asset(f"{name}.js") for name in names)
    settings: Any = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True}
    env = Environment(**settings, loader=FunctionLoader(_read_asset))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash_text(style)}'; script-src '{_hash_text(script)}'"
    )
    policy += "; connect-src 'self'" if view["made"] else ""
    index = {**lists, "axis": view["axis"], "withPrompts": view["with_prompts"]}
    packed = {
        "chunks": Markup(page_parts.embed_json([page_parts.pack_json(chunk) for chunk in chunks])),
        "index": Markup(page_parts.embed_json(page_parts.pack_json(index))),
    }
    plain = _draw_plain_parts(env.get_template("plain.html").module, lists, chunks)
    raw = {"style": Markup(style), "script": Markup(script), **packed, "plain": plain}
    return env.get_template("page.html").render(**view, **lists, **raw, policy=policy) + "\n"


def _draw_plain_parts(macros: Any, lists: Record, chunks: Sequence[Any]) -> dict[str, list[str]]:
    """The HTML of files and turns for a browser without scripts, up to PLAIN characters."""
    room = PLAIN
    plain: dict[str, list[str]] = {"files": [], "turns": []}
    for name, draw in (("turns", macros.turn), ("files", macros.file)):
        for entry in lists[name]:
            value = chunks[entry["chunk"]][entry["index"]]
            if room <= 0 or len(repr(value)) > 2 * room:
                break
            text = draw(entry, value, lists["sessions"])
            room -= len(text)
            plain[name].append(text)
    return plain


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read_asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
