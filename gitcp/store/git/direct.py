"""Read small objects without git, from loose files and packs; git reads all others, and many."""

from __future__ import annotations

import os

from gitcp.core.git import packfile
from gitcp.process import files
from gitcp.record import decode_name, encode_name
from gitcp.store.git import refs
from gitcp.store.pack import packs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object

_TREE = "^{tree}"


class Unsure(Exception):
    """The object has to be read by git."""


def read_object(repo: Repo, spec: str, near: dict[str, Object]) -> Object | None:
    """The object that a full oid, a full ref or HEAD names, or its `^{tree}`; None if there is no
    such ref.

    near: the objects in memory, by oid; the commit of a tree is added.  Raises Unsure if git has to
    read the object.
    """
    name = spec.removesuffix(_TREE)
    if (oid := _resolve(repo, name)) is None:
        return None
    obj = near.get(oid) or _read_file(repo, oid)
    if name == spec or obj[1] == "tree":
        return obj
    if obj[1] != "commit":
        raise Unsure
    near[oid] = obj
    tree = decode_name(obj[2].partition(b"\n")[0].removeprefix(b"tree "))
    if not refs.is_oid(repo, encode_name(tree)):
        raise Unsure
    return near.get(tree) or _read_file(repo, tree)


def _resolve(repo: Repo, name: str) -> str | None:
    if name == "HEAD":
        return refs.read_head(repo)
    if name.startswith("refs/") and not any(sign in name for sign in "^~:@"):
        return refs.read_ref(repo, name)
    if refs.is_oid(repo, encode_name(name)):
        return name
    raise Unsure


def _read_file(repo: Repo, oid: str) -> Object:
    own_packs = packs.get_packs(repo)
    if packed := own_packs.read_object(oid):
        return oid, *packed
    loose = os.path.join(os.path.dirname(own_packs.folder), oid[:2], oid[2:])
    data = packfile.unpack_deflated(files.peek(loose, most=packfile.SMALL)) or b""
    head, _, content = data.partition(b"\0")
    kind, _, size = head.decode("ascii", "replace").partition(" ")
    if size == str(len(content)):
        return oid, kind, content
    if packed := own_packs.read_foreign(oid):
        return oid, *packed
    raise Unsure
