"""Fill the template of a page: all values are escaped, and a policy forbids foreign content."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import re
import time

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from gitcp.text.times import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.text.record_types import Record

_LEVEL = 9  # of compression
_SPACED = re.compile(r" ?([{},;]|:(?= )) ?")  # signs of a style that need no space beside them


def fill_template(view: Record) -> str:
    """The page with a view.  A page with view["made"], its number, asks its server whether there is
    another one, and for conversations."""
    style = _SPACED.sub(r"\1", _squeeze(_read_asset("page.css")).replace("\n", ""))
    script = _squeeze(_read_asset("page.js"))
    source = "'none'"
    if view["made"]:
        script += _squeeze(_read_asset("live.js"))
        source = "'self'"
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash_text(style)}'; script-src '{_hash_text(script)}'; "
        f"connect-src {source}"
    )
    settings: Any = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True}
    env = Environment(**settings, lstrip_blocks=True, loader=FunctionLoader(_read_asset))
    raw = {"style": Markup(style), "script": Markup(script)}
    return env.get_template("page.html").render(**view, **raw, policy=policy) + "\n"


def draw_time(seconds: float) -> Markup:
    """A time, which the page's script tells in its reader's zone."""
    told = time.strftime("%d %b %H:%M", time.localtime(seconds)).lstrip("0")
    return Markup("<time datetime={}>{}</time>").format(format_utc(int(seconds)), told)


def draw_path(path: str, tail: int = 0) -> Markup:
    """A path in two parts, of which the first may be cut: the last characters, without tail the
    file's name, can always be seen."""
    at = len(path) - tail
    if not tail:
        at = path.rfind("/") + 1
    name = Markup("<i class=tail>{}</i>").format(path[max(0, at) :])
    if at <= 0:
        return name
    return Markup("<i>{}</i>{}").format(path[:at], name)


def pack_html(html: str) -> Markup:
    """HTML that the page's script puts in when there is time; the same always packs the same."""
    packed = base64.b64encode(gzip.compress(html.encode(), _LEVEL, mtime=0)).decode()
    return Markup(f"<script type=z>{packed}</script>")


def _squeeze(text: str) -> str:
    """A style or a script without indentation, blank lines and lines of comments."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join([line for line in lines if line and not line.startswith(("//", "/*"))])


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read_asset(name: str) -> str:
    path = os.path.join(os.path.dirname(__file__), "assets", name)
    with open(path, encoding="utf-8") as file:
        return file.read()
