"""The template of a page, filled: everything escapes, a policy stands before all else."""

from __future__ import annotations

import base64
import hashlib
import os

from gitcp.core.page import safe
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitcp.core.record_types import Record

_MISSING = "pages are made with Jinja2 and Pygments: install gitcp with its extra 'page'"


def require() -> None:
    """Raise Error saying what to install where the libraries of a page are not there."""
    try:
        import jinja2  # noqa: F401
        import pygments  # noqa: F401
    except ImportError:
        raise Error(_MISSING) from None


def filled(view: Record, chunks: Sequence[Any]) -> str:
    """The template with view in it, and chunks compressed."""
    style, script = _asset("page.css"), _asset("page.js")
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    env = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    raw = {
        "style": Markup(style),
        "script": Markup(script),
        "chunks": Markup(safe.embedded([safe.packed(c) for c in chunks])),
    }
    return env.from_string(_asset("page.html")).render(**view, **raw, policy=policy) + "\n"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
