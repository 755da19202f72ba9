"""Reading the parts of one checkpoint, as far as they can be read."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core import json
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.git.tree import TREE, list_files, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gitcp.core.record_types import Entry, Tree
    from gitcp.store.git.objects import Objects

FILES = ("100644", "100755")
_MOST = 20_000  # entries below one directory


class Parts:
    """A reader that does not stop at damage: lacks lists each part that could not be read, and
    why, and a warning names it."""

    def __init__(
        self,
        objects: Objects,
        checkpoint_id: str,
        trees: Mapping[str, Tree] | None = None,
        parse: Callable[[bytes], Any] = json.loads,
    ) -> None:
        """trees: directories that were read before, by oid.  parse: used like json.loads()."""
        self._objects, self._id, self._known = objects, checkpoint_id, trees or {}
        self._parse = parse
        self.lacks: list[str] = []

    def note_lack(self, part: str, why: object) -> None:
        """Note a part that is missing or invalid."""
        line = f"{part}: {why}" if part else str(why)
        self.lacks.append(line)
        notice.warn_lacking(f"checkpoint '{self._id}': {line}")

    def read_tree(self, oid: str, part: str = "") -> Tree:
        """The entries of a directory; {} if it is unreadable."""
        if oid in self._known:
            return self._known[oid]
        try:
            return read_tree(self._objects, oid)
        except Error as e:
            self.note_lack(part, e)
            return {}

    def read_blob(self, files: Tree, name: str, folder: str = "") -> bytes | None:
        """The bytes of a file; None if there is none, or it is unreadable."""
        entry = files.get(name)
        if entry is None:
            return None
        try:
            if entry[0] not in FILES:
                raise Error(f"it is no file (mode {entry[0]})")
            return self._objects.need(entry[1], "blob")
        except Error as e:
            self.note_lack(f"{folder}/{name}" if folder else name, e)
            return None

    def read_json(self, files: Tree, folder: str = "") -> dict[str, Any]:
        """The metadata of a directory; {} if it is unreadable or no JSON object."""
        data = self.read_blob(files, summary.METADATA, folder)
        content = summary.parse_json(data, self._parse) if data is not None else {}
        if content is None:
            self.note_lack(f"{folder}/{summary.METADATA}".strip("/"), "it is no JSON object")
        return content or {}

    def read_prompts(self, files: Tree, folder: str = "") -> list[str]:
        """The prompts of a session's directory; [] if they are unreadable."""
        prompts = decode_name(self.read_blob(files, summary.PROMPT, folder) or b"")
        return prompts.split(summary.SEPARATOR) if prompts else []

    def list_files(self, entry: Entry | None, part: str) -> list[str]:
        """The paths of the files below a directory, as far as it can be read."""
        paths: list[str] = []
        if entry and entry[0] == TREE:
            try:
                paths += (path for path, _ in list_files(self._objects, entry[1], most=_MOST))
            except Error as e:
                self.note_lack(part, e)
        return paths
