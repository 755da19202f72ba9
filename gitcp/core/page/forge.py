"""Derive a forge's addresses of commits and files from the address of a remote."""

from __future__ import annotations

import re
from urllib.parse import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Links = Mapping[str, str]  # "commit", "file": an address with {oid}, {path}

_SSH = re.compile(r"(?:[\w.-]+@)?([\w.-]+\.[a-z]{2,}):(?!//)(?:\d+/)?(.+)")
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^@/]*@)?([\w.-]+\.[a-z]{2,})(?::\d+)?/(.+)")
_WAYS = {
    "github": ("commit/{oid}", "blob/{oid}/{path}"),
    "gitlab": ("-/commit/{oid}", "-/blob/{oid}/{path}"),
    "gitea": ("commit/{oid}", "src/commit/{oid}/{path}"),
}
KINDS = ("auto", "none", *_WAYS)
_HOSTS = {"codeberg.org": "gitea"}


def find_links(remote: str, kind: str = "auto") -> Links:
    """The addresses of the forge at a remote's URL; {} for an unknown forge.

    kind: one of KINDS; `auto` derives the forge from the host's name.
    """
    match = _URL.fullmatch(remote) or _SSH.fullmatch(remote)
    if not match or kind == "none":
        return {}
    host, path = match[1].lower(), match[2].strip("/").removesuffix(".git")
    if kind == "auto":
        kind = _HOSTS.get(host, "") or next((name for name in _WAYS if name in host), "")
    if kind not in _WAYS or not path or ".." in path.split("/"):
        return {}
    base = f"https://{host}/{quote(path)}/"
    commit, file = _WAYS[kind]
    return {"commit": base + commit, "file": base + file}


def link_commit(links: Links, oid: str) -> str:
    """The address of a commit; '' without a forge."""
    return links["commit"].format(oid=quote(oid)) if links else ""


def link_file(links: Links, oid: str, path: str) -> str:
    """The address of a file of a commit; '' without a forge."""
    return links["file"].format(oid=quote(oid), path=quote(path)) if links else ""
