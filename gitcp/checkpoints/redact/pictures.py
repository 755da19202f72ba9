"""Pictures of transcripts, which are kept beside them."""

from __future__ import annotations

import os

from gitcp.checkpoints.redact import images
from gitcp.checkpoints.redact.images import Picture
from gitcp.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.git.repo import Repo


def make_replacer(repo: Repo) -> Callable[[bytes], bytes]:
    """A function that replaces the pictures in lines of a transcript, for gitcp.images drop or
    apart."""
    if repo.config.get_option("gitcp.images") == "drop":
        return lambda data: images.replace(data, images.drop)
    return lambda data: move_pictures(repo, data)


def move_pictures(repo: Repo, data: bytes) -> bytes:
    """Write the pictures of lines to files; return the lines with marks in their place."""

    def put(picture: Picture) -> Picture:
        if picture.body.startswith(images.MARK) or picture.body == images.DOT.body:
            return picture
        name = files.hash_bytes(picture.body)
        if not os.path.exists(_locate_picture(repo, name)):
            files.write_private(repo, _locate_picture(repo, name), picture.body, durable=True)
        return Picture(picture.kind, images.MARK + name.encode())

    return images.replace(data, put)


def restore_pictures(repo: Repo, data: bytes) -> bytes:
    """Lines with their marks replaced by the pictures; a dot for a missing one."""

    def get(picture: Picture) -> Picture:
        if not picture.body.startswith(images.MARK):
            return picture
        body = files.read_bytes(_locate_picture(repo, _parse_name(picture.body)))
        if not body:
            return images.DOT
        return Picture(picture.kind, body)

    return images.replace(data, get)


def forget_pictures(repo: Repo, data: bytes) -> None:
    """Remove the pictures whose marks are in lines of a transcript."""

    def drop(picture: Picture) -> Picture:
        if picture.body.startswith(images.MARK):
            files.remove_private(repo, _locate_picture(repo, _parse_name(picture.body)))
        return picture

    images.replace(data, drop)


def locate_folder(repo: Repo) -> str:
    """The directory of the pictures."""
    return repo.join_shared("images")


def _parse_name(body: bytes) -> str:
    return body.removeprefix(images.MARK).decode("ascii").replace("/", "")


def _locate_picture(repo: Repo, name: str) -> str:
    return os.path.join(locate_folder(repo), name)
