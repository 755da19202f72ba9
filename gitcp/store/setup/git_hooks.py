"""Planning what to write for git's hooks.

A hook that gitcp did not write is moved aside and called by gitcp's.  A directory outside the
repository, or a tracked hook, is only written with --force.
"""

from __future__ import annotations

import os

from gitcp.core.setup import hook_scripts, hook_text
from gitcp.process import files
from gitcp.record import decode_name, encode_name
from gitcp.store.setup import exclude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from gitcp.core.setup.hook_scripts import Chain
    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo
    from gitcp.store.setup.manifest import Entry, Manifest

    Plan = tuple[list[Write], list[str]]  # writes, notes

_UNTIL_HUSKY = (
    "'{0}/{1}' calls gitcp until husky writes it again: '{1}' above it is yours; "
    "'gitcp enable --force' adds a line to that"
)
FORGOTTEN = "was moved aside, and the hook that called it was replaced by another tool"
_CHAIN_LIMIT = 8  # of gitcp's hooks that call each other
_EDITED = "'{}' was edited since gitcp wrote it: left as it is (--force replaces it)"


def find_folder(repo: Repo) -> str:
    """The directory where git looks for hooks, absolute (core.hooksPath, worktrees)."""
    where = repo.git.read_line("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    return os.path.normpath(decode_name(where))


def is_ours_called(where: str, hook: str) -> bool:
    """Whether git can run its hook in a directory, and that is gitcp's or calls gitcp's."""
    if not os.access(os.path.join(where, hook), os.X_OK):
        return False
    texts = read_texts(where, hook)
    return hook_text.is_ours_called(hook, texts[""], texts)


def read_texts(where: str, hook: str) -> dict[str, str]:
    """suffix -> text of the files of a hook; OWN -> that of the file that husky's hook calls."""
    texts = Beside(where, hook).texts
    if is_huskys(where) and hook_text.find_tool(texts[""]) == "husky":
        own = files.peek(os.path.join(os.path.dirname(where), hook))
        return {**texts, hook_text.OWN: decode_name(own)} if own else texts
    return texts


def is_huskys(where: str) -> bool:
    """Whether husky writes a directory: each hook there calls its namesake one level above."""
    return os.path.basename(where) == "_" and os.path.isfile(os.path.join(where, "h"))


def plan_hooks(repo: Repo, record: Manifest, py: str, entry: str, force: bool) -> Plan:
    """Plan what to write so that each of git's hooks runs gitcp; py, entry: hook_scripts."""
    where = find_folder(repo)
    if os.path.lexists(where) and not os.path.isdir(where):
        return [], [f"git runs no hooks here: '{where}' is not a directory"]
    closed = set() if force else _list_closed(repo, where)
    writes: list[Write] = []
    notes: list[str] = []
    refused = []
    for hook in hook_scripts.HOOKS:
        beside = Beside(where, hook)
        if hook in closed and hook_text.is_ours_called(hook, beside.texts[""], beside.texts):
            continue
        if is_huskys(where):
            above = _plan_for_husky(beside, hook, (py, entry), force)
            if above is not None:
                writes += above
                continue
        moves = beside.plan_strays(hook_text.choose_suffix(hook, beside.texts[""]))
        planned = _plan_hook(beside, hook, record, (py, entry), force)
        if isinstance(planned, str):
            notes.append(planned)
        elif planned and hook in closed:
            refused.append(hook)
        else:
            writes += [*moves, *([planned] if planned else [])]
    if refused:
        notes.append(_format_refusal(where, len(closed) == len(hook_scripts.HOOKS), refused))
    if is_huskys(where):
        names = [os.path.basename(w["path"]) for w in writes if w["path"].startswith(where)]
        notes += [_UNTIL_HUSKY.format(where, name) for name in names if "." not in name]
    elif writes and ".lefthook" in where.split(os.sep):
        notes.append(f"if lefthook writes '{where}' again, run 'gitcp enable' again")
    return writes, notes


def _plan_for_husky(
    beside: Beside, hook: str, baked: tuple[str, str], force: bool
) -> list[Write] | None:
    """Plan the person's own hook above husky's directory, which husky writes again with each
    `npm install`; None if the person has one and force is not given."""
    above = os.path.dirname(os.path.dirname(beside.path))
    own = Beside(above, hook)
    old, line = own.texts[""], hook_scripts.build_line(hook)
    if old and not hook_text.is_ours(old) and line not in old and not force:
        return None
    moves = beside.plan_strays()
    if hook_text.is_ours(beside.texts[""]):
        moves.append(beside.plan_main())
    moves += own.plan_strays()
    write: Write = {"path": own.path, "kind": "hook", "data": b"", "note": "", "alone": True}
    if not old or hook_text.is_ours(old):
        write["data"] = encode_name(hook_scripts.build_script(hook, *baked))
        write["note"] = f"wrote '{own.path}', which husky calls"
    elif line not in old:
        glue = "" if old.endswith("\n") else "\n"
        write |= {"kind": "line", "data": encode_name(f"{old}{glue}{line}\n"), "lines": [line]}
        write["note"] = f"wrote a line into '{own.path}'"
        del write["alone"]
    unchanged = not write["data"] or decode_name(write["data"]) == old
    return moves if unchanged else [*moves, write]


def plan_removal(record: Manifest, folders: Iterable[str]) -> list[Write]:
    """Plan the removal of gitcp's hooks that are not in the record."""
    writes = []
    recorded = {
        record.get_path(entry) for entry in record.entries if not _is_moved_here(record, entry)
    }
    for where in folders:
        for hook in hook_scripts.HOOKS:
            beside = Beside(where, hook)
            writes += beside.plan_strays("", recorded)
            if hook_text.is_ours(beside.texts[""]) and beside.path not in recorded:
                writes.append(beside.plan_main())
    return writes


def _is_moved_here(record: Manifest, entry: Entry) -> bool:
    """Whether another unedited hook of gitcp is in the place of the recorded one: a tool moved it
    there, and it calls another file."""
    path = record.get_path(entry)
    if entry["kind"] != "hook" or record.is_intact(entry):
        return False
    hook, old = os.path.basename(path).partition(".")[0], decode_name(files.read_bytes(path) or b"")
    return hook_text.is_ours(old) and hook_text.is_untouched(hook, old)


def list_forgotten(folders: Iterable[str]) -> list[str]:
    """The hooks that were moved aside and that no hook of gitcp calls any more."""
    return [
        beside.path + suffix
        for where in folders
        for beside in (Beside(where, hook) for hook in hook_scripts.HOOKS)
        for suffix in beside.list_forgotten()
        if not beside.has_twin(suffix)
    ]


def is_former(hook: str, text: str, records: Iterable[Manifest]) -> bool:
    """Whether a hook is as an older gitcp wrote it and not edited, so that enable replaces it."""
    if not hook_text.is_whole(text) or hook_text.is_untouched(hook, text):
        return False
    return any(record.has_written(encode_name(text)) for record in records)


def _plan_hook(
    beside: Beside, hook: str, record: Manifest, baked: tuple[str, str], force: bool
) -> Write | str | None:
    """The write for one hook, a note why there is none, or None if the hook is right."""
    suffix = hook_text.choose_suffix(hook, beside.texts[""])
    path, old = beside.path + suffix, beside.texts.get(suffix, "")
    chain: Chain | None = None
    new: Write = {
        "path": path, "kind": "hook", "data": b"", "note": f"wrote '{path}'", "alone": True,
    }  # fmt: skip
    if hook_text.is_ours(old):
        mine = record.has_written(encode_name(old)) or hook_text.is_untouched(hook, old)
        if hook_text.is_whole(old) and not (mine or force):
            return _EDITED.format(path)
        chain = hook_text.parse_chain(old)
        if not record.find(path):
            new["adopted"] = True
            if chain and chain["suffix"] in beside.texts:
                new["aside"] = chain["suffix"]
    elif hook_text.is_entire_hook(old):
        if hook_text.ENTIRE_BACKUP in beside.texts:
            chain = hook_text.choose_chain(beside.texts[hook_text.ENTIRE_BACKUP])
            chain["suffix"] = hook_text.ENTIRE_BACKUP
        new["note"], new["aside"] = f"took over '{path}' from Entire", ""
    elif os.path.lexists(path):
        chain, new["aside"] = hook_text.choose_chain(old), hook_scripts.BACKUP
        chain["suffix"] = suffix + hook_scripts.BACKUP
        new["note"] = f"wrote '{path}', which calls '{hook}{chain['suffix']}' too"
    new["data"] = encode_name(hook_scripts.build_script(hook, *baked, chain))
    unchanged = decode_name(new["data"]) == old and os.access(path, os.X_OK)
    return None if unchanged and record.find(path) else new


def _list_closed(repo: Repo, where: str) -> set[str]:
    """The hooks that other people or other repositories would get too."""
    real = os.path.realpath(where)
    if exclude.is_inside(real, repo.common) or exclude.is_inside(real, repo.git_dir):
        return set()
    if repo.top is None or not exclude.is_inside(real, repo.top):
        return set(hook_scripts.HOOKS)
    paths = [os.path.join(real, hook) for hook in hook_scripts.HOOKS]
    return {os.path.basename(path) for path in exclude.list_tracked(repo, paths)}


def remove_ours(path: str, entry: Entry, data: bytes) -> bytes | None:
    """A hook without gitcp's part; None if nothing else is in it."""
    aside = entry["aside"]
    chained = bool(aside) and os.path.lexists(path + aside)
    left = hook_text.remove_ours(os.path.basename(path), decode_name(data), chained)
    return None if left is None else encode_name(left)


def _format_refusal(where: str, outside: bool, hooks: Iterable[str]) -> str:
    why = "is outside the repository" if outside else "has hooks that are tracked"
    lines = [f"    {where}/{hook}: {hook_scripts.build_line(hook)}" for hook in hooks]
    what = f"'{where}' {why}: nothing is written there without --force; lines to add:"
    return "\n".join([what, *lines])


class Beside:
    """The files of one hook: the hook itself and its namesakes with a suffix.

    A hook of gitcp under another name is a stray: another hook manager moved it aside.  A stray is
    replaced by the file that it calls, or removed.  Copies that a tool made of its own hook are
    removed.

    Planning changes `texts` alone; clear_stray() carries out what was planned.
    """

    def __init__(self, folder: str, hook: str) -> None:
        self.path = os.path.join(folder, hook)
        self.texts = {
            suffix: self._read_text(suffix) for suffix in ["", *_list_suffixes(folder, hook)]
        }

    def _read_text(self, suffix: str) -> str:
        path = self.path + suffix
        return decode_name(files.read_bytes(path) or b"") if os.path.isfile(path) else ""

    def find_chain(self, suffix: str) -> Chain | None:
        """The file of another tool that a hook of gitcp calls in the end; None without one."""
        chain = hook_text.parse_chain(self.texts[suffix])
        for _ in range(_CHAIN_LIMIT):
            if chain is None or chain["suffix"] not in self.texts:
                return None
            if not hook_text.is_ours(self.texts[chain["suffix"]]):
                return chain
            chain = hook_text.parse_chain(self.texts[chain["suffix"]])
        return None

    def plan_strays(self, main: str = "", record: Container[str] = ()) -> list[Write]:
        """Plan the moves and removals of the strays of this hook, before it is written itself.

        main: the suffix where gitcp's hook belongs.  Paths in record are left alone.
        """
        moves = [self._plan_removal(s) for s in self._list_copies()]
        own = self.find_chain(main) if hook_text.is_ours(self.texts.get(main, "")) else None
        for suffix in [s for s, t in self.texts.items() if s and hook_text.is_ours(t)]:
            if suffix == main or self.path + suffix in record:
                continue
            chain = self.find_chain(suffix)
            called = chain["suffix"] if chain else ""
            if own and called == own["suffix"] and suffix not in self._list_called(main):
                called = ""  # the hook itself goes on calling it
            elif called and self.has_twin(called) and not self._is_called(suffix):
                moves.append(self._plan_removal(called))
                called = ""
            moves.append(self._plan_move(suffix, called) if called else self._plan_removal(suffix))
        return moves

    def _list_copies(self) -> list[str]:
        """The suffixes of copies of a tool's hook: files that gitcp's hooks call if the hook itself
        is of the same tool, and forgotten files of a tool that has another file."""
        called, main = self._list_asides(), self.texts[""]
        copies = called if main and not hook_text.is_ours(main) else set[str]()
        same = [s for s in copies if hook_text.is_same_tool(self.texts[s], main)]
        return [*same, *(s for s in self.list_forgotten() if self.has_twin(s))]

    def _list_asides(self) -> set[str]:
        """The suffixes of other tools' files that gitcp's hooks call in the end."""
        ours = [s for s, t in self.texts.items() if hook_text.is_ours(t)]
        return {chain["suffix"] for s in ours if (chain := self.find_chain(s))}

    def list_forgotten(self) -> list[str]:
        """The suffixes of hooks that were moved aside and that no hook of gitcp calls any more."""
        called = self._list_asides()
        foreign = [s for s, t in self.texts.items() if not hook_text.is_ours(t)]
        return [s for s in foreign if hook_scripts.BACKUP in s and s not in called]

    def has_twin(self, suffix: str) -> bool:
        """Whether the tool that wrote this file wrote another one that was not moved aside."""
        tool = hook_text.find_tool(self.texts[suffix])
        current = (t for s, t in self.texts.items() if s != suffix and hook_scripts.BACKUP not in s)
        return tool != "" and any(hook_text.find_tool(t) == tool for t in current)

    def _is_called(self, suffix: str) -> bool:
        """Whether the hook itself, which is another tool's, calls this file."""
        return hook_text.is_called(os.path.basename(self.path), self.texts[""], suffix)

    def plan_main(self) -> Write:
        """Plan the removal of gitcp's hook, or its replacement by the file that it calls."""
        chain = self.find_chain("")
        return self._plan_move("", chain["suffix"]) if chain else self._plan_removal("")

    def _list_called(self, main: str) -> set[str]:
        """The suffixes of the files that gitcp's hook calls, one after the other."""
        called: set[str] = set()
        chain = hook_text.parse_chain(self.texts[main])
        while chain and chain["suffix"] not in called:
            called.add(chain["suffix"])
            chain = hook_text.parse_chain(self.texts.get(chain["suffix"], ""))
        return called

    def _plan_removal(self, suffix: str) -> Write:
        del self.texts[suffix]
        path = self.path + suffix
        return {"path": path, "kind": "stray", "data": b"", "note": f"removed '{path}'"}

    def _plan_move(self, suffix: str, source_suffix: str) -> Write:
        self.texts[suffix] = self.texts.pop(source_suffix)
        path = self.path + suffix
        note = f"put '{self.path}{source_suffix}' back as '{path}'"
        source = self.path + source_suffix
        return {"path": path, "kind": "stray", "data": b"", "note": note, "source": source}


def clear_stray(write: Write) -> None:
    """Move or remove one stray as planned; one that is gone since is no error."""
    if "source" not in write:
        files.remove_file(write["path"])
    elif os.path.lexists(write["source"]):
        os.replace(write["source"], write["path"])


def _list_suffixes(folder: str, hook: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    ends = [name[len(hook) :] for name in names if name.startswith(hook)]
    return [end for end in ends if end and end[0] in "._~"]
