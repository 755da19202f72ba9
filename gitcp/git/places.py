"""Places: where git sends commits, by the URL that it resolved (doc/behaviour.md "Sharing")."""

from __future__ import annotations

from gitcp.errors import drop_tokens

_SSH = ("ssh", "git+ssh", "ssh+git")  # where a user name is no secret, and part of the address
_END_OF_HOST = "/?#"


def clean_url(url: str) -> str:
    """A URL, or a path, without what may be a password or a token.

    Of ssh the user's name remains; elsewhere the name may be a token, and git does not need it to
    reach the place: 'https://host/x.git' of 'https://name:token@host/x.git'.
    """
    start, found, rest = url.partition("://")
    if not found:
        return url
    length = len(rest)
    for sign in _END_OF_HOST:
        at = rest.find(sign)
        if at >= 0:
            length = min(length, at)
    secret, _, host = rest[:length].rpartition("@")
    user = ""
    if secret and start.lower().rpartition("::")[2] in _SSH:
        user = secret.partition(":")[0] + "@"
    return f"{start}://{user}{host}{drop_tokens(rest[length:])}"


def name_place(url: str, folder: str) -> str:
    """The place of a URL as git resolved it: no two places have the same bytes.

    folder: where git runs, against which it reads a relative path.
    """
    if url and is_path(url) and not url.startswith("/"):
        return f"{folder}/{url}"
    return clean_url(url)


def is_path(url: str) -> bool:
    """Whether git takes a URL as a path here: 'host:path' is none, './host:path' is one."""
    before, colon, _ = url.partition(":")
    return not colon or "/" in before


def build_file_name(place: str) -> str:
    """The name of a private file about a place."""
    return clean_url(place).replace("%", "%25").replace("/", "%2F")[-200:]
