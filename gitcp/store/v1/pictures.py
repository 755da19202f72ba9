"""Pictures of transcripts, kept apart from them: private files under their hash, never sent."""

from __future__ import annotations

import os

from gitcp.core.redact import images
from gitcp.process import files
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.repo import Repo


def make_replacer(repo: Repo) -> Callable[[bytes], bytes]:
    """What becomes of lines of a transcript before they are stored, where gitcp.images is drop or
    apart."""
    if repo.config.get_option("gitcp.images") == "drop":
        return lambda data: images.replace(data, images.drop)
    return lambda data: move_pictures(repo, data)


def move_pictures(repo: Repo, data: bytes) -> bytes:
    """Lines with a mark in the place of each picture, which is in a file under its hash then."""

    def put(kind: bytes, body: bytes) -> tuple[bytes, bytes]:
        if body.startswith(images.MARK) or body == images.DOT[1]:
            return kind, body
        name = files.hash_bytes(body)
        if not os.path.exists(_locate_picture(repo, name)):
            private.write_private(repo, _locate_picture(repo, name), body, durable=True)
        return kind, images.MARK + name.encode()

    return images.replace(data, put)


def restore_pictures(repo: Repo, data: bytes) -> bytes:
    """Lines with the pictures that were put aside; a dot for one that is gone."""

    def get(kind: bytes, body: bytes) -> tuple[bytes, bytes]:
        if not body.startswith(images.MARK):
            return kind, body
        there = files.read_bytes(_locate_picture(repo, _parse_name(body)))
        return (kind, there) if there else images.DOT

    return images.replace(data, get)


def forget_pictures(repo: Repo, data: bytes) -> None:
    """Remove the pictures that lines of a transcript name."""

    def drop(kind: bytes, body: bytes) -> tuple[bytes, bytes]:
        if body.startswith(images.MARK):
            private.remove_private(repo, _locate_picture(repo, _parse_name(body)))
        return kind, body

    images.replace(data, drop)


def locate_folder(repo: Repo) -> str:
    """Where the pictures are."""
    return repo.join_shared("images")


def _parse_name(body: bytes) -> str:
    return body.removeprefix(images.MARK).decode("ascii").replace("/", "")


def _locate_picture(repo: Repo, name: str) -> str:
    return os.path.join(locate_folder(repo), name)
