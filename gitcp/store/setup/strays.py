"""Hooks of ours under other names: a hook manager that came later moved them aside.

Each gives its place to what it called, or goes; a copy that a tool made of its own hook goes
too.  So that the manager's hook can be taken in again, and nothing of ours is left behind.
"""

from __future__ import annotations

import os

from gitcp.core.setup import hook_text
from gitcp.core.setup.hook_scripts import BACKUP
from gitcp.record import text
from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gitcp.core.setup.hook_scripts import Chain
    from gitcp.core.setup.installation import Write

_CHAIN_LIMIT = 8  # of our own scripts that call each other


class Beside:
    """The files of one hook: the hook itself and those named like it with a suffix.

    Planning changes only what is known of them; clear() does what was planned.
    """

    def __init__(self, folder: str, hook: str) -> None:
        self.path = os.path.join(folder, hook)
        self.texts = {suffix: self._text(suffix) for suffix in ["", *_suffixes(folder, hook)]}

    def _text(self, suffix: str) -> str:
        path = self.path + suffix
        return text(files.read(path) or b"") if os.path.isfile(path) else ""

    def chain(self, suffix: str) -> Chain | None:
        """What one of our scripts calls that is not ours, None when there is nothing."""
        chain = hook_text.read_chain(self.texts[suffix])
        for _ in range(_CHAIN_LIMIT):
            if chain is None or chain["suffix"] not in self.texts:
                return None
            if not hook_text.is_ours(self.texts[chain["suffix"]]):
                return chain
            chain = hook_text.read_chain(self.texts[chain["suffix"]])
        return None

    def plan(self, place: str = "", known: Container[str] = ()) -> list[Write]:
        """What is to be done about the strays of this hook, before it is written itself.

        place: the suffix under which our script belongs.  Paths in known are left alone.
        """
        moves = [self._gone(s) for s in self._copies()]
        own = self.chain(place) if hook_text.is_ours(self.texts.get(place, "")) else None
        for suffix in [s for s, t in self.texts.items() if s and hook_text.is_ours(t)]:
            if suffix == place or self.path + suffix in known:
                continue
            chain = self.chain(suffix)
            kept = chain["suffix"] if chain else ""
            if own and kept == own["suffix"] and suffix not in self._called(place):
                kept = ""  # the hook itself goes on calling it
            elif kept and self.stands(kept) and not self._runs(suffix):
                moves.append(self._gone(kept))
                kept = ""
            moves.append(self._instead(suffix, kept) if kept else self._gone(suffix))
        return moves

    def _copies(self) -> list[str]:
        """What is called by ours and is of the tool whose hook stands here; what nothing calls
        any more and is of a tool that has another one beside it."""
        called, main = self._asides(), self.texts[""]
        copies = called if main and not hook_text.is_ours(main) else set[str]()
        again = [s for s in copies if hook_text.same_tool(self.texts[s], main)]
        return [*again, *(s for s in self.forgotten() if self.stands(s))]

    def _asides(self) -> set[str]:
        """What our scripts call in the end."""
        ours = [s for s, t in self.texts.items() if hook_text.is_ours(t)]
        return {chain["suffix"] for s in ours if (chain := self.chain(s))}

    def forgotten(self) -> list[str]:
        """The suffixes of hooks that were kept aside for one of ours that is gone since."""
        called = self._asides()
        kept = [s for s, t in self.texts.items() if BACKUP in s and not hook_text.is_ours(t)]
        return [suffix for suffix in kept if suffix not in called]

    def stands(self, suffix: str) -> bool:
        """Whether a tool wrote this file, and another one that was not kept aside."""
        tool = hook_text.tool(self.texts[suffix])
        standing = (t for s, t in self.texts.items() if s != suffix and BACKUP not in s)
        return tool != "" and any(hook_text.tool(t) == tool for t in standing)

    def _runs(self, suffix: str) -> bool:
        """Whether the hook itself, a tool's, calls what is there."""
        return hook_text.calls(os.path.basename(self.path), self.texts[""], suffix)

    def plan_main(self) -> Write:
        """What puts the hook of ours itself out of the way."""
        chain = self.chain("")
        return self._instead("", chain["suffix"]) if chain else self._gone("")

    def _called(self, place: str) -> set[str]:
        """The suffixes our hook calls on the way to what is not ours."""
        called: set[str] = set()
        chain = hook_text.read_chain(self.texts[place])
        while chain and chain["suffix"] not in called:
            called.add(chain["suffix"])
            chain = hook_text.read_chain(self.texts.get(chain["suffix"], ""))
        return called

    def _gone(self, suffix: str) -> Write:
        del self.texts[suffix]
        path = self.path + suffix
        return {"path": path, "kind": "stray", "data": b"", "note": f"removed '{path}'"}

    def _instead(self, suffix: str, kept: str) -> Write:
        self.texts[suffix] = self.texts.pop(kept)
        path = self.path + suffix
        note = f"put '{self.path}{kept}' back as '{path}'"
        source = self.path + kept
        return {"path": path, "kind": "stray", "data": b"", "note": note, "source": source}


def clear(write: Write) -> None:
    """Do what was planned for one file; what has gone since is gone."""
    if "source" not in write:
        files.remove(write["path"])
    elif os.path.lexists(write["source"]):
        os.replace(write["source"], write["path"])


def _suffixes(folder: str, hook: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    ends = [name[len(hook) :] for name in names if name.startswith(hook)]
    return [end for end in ends if end and end[0] in "._~"]
