"""Plan what to write for git's hooks.

A hook that gitcp did not write is moved aside, and gitcp's calls it.  A directory outside the
repository, and a tracked hook, are written only with --force.
"""

from __future__ import annotations

import os

from gitcp.git import decode_name, encode_name, files
from gitcp.git.objects import object_lists
from gitcp.record.snapshot import Worktree
from gitcp.setup import configured_hooks, exclude_file, hook_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from gitcp.git.repo import Repo
    from gitcp.setup.hook_texts import Chain, Write
    from gitcp.setup.takeover import Entry, Manifest

    Plan = tuple[list[Write], list[str]]  # writes, notes

_UNTIL_HUSKY = (
    "'{0}/{1}' calls gitcp until husky writes it again: '{1}' above it is yours; "
    "'gitcp enable --force' adds a line to that"
)
_ON_BRANCH = "includeif.onbranch:"
_HOOKS_PATH = "core.hooksPath"
FORGOTTEN = "was moved aside, and the hook that called it was replaced by another tool"
_EDITED = "'{}' was edited since gitcp wrote it: left as it is (--force replaces it)"


def find_folder(repo: Repo) -> str:
    """The directory where git looks for hooks, absolute (core.hooksPath, worktrees)."""
    if not (repo.config.get_all("core.hookspath") or repo.uses_git_alone):
        return os.path.join(repo.common, "hooks")
    where = repo.git.read_line("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    return os.path.normpath(decode_name(where))


def list_missing(repo: Repo, where: str) -> list[str]:
    """The hooks of gitcp that git does not run, be they configured or in its directory of hooks,
    where."""
    missing = [hook for hook in hook_texts.HOOKS if not _is_ours_called(repo, where, hook)]
    if not missing:
        return []
    configured = configured_hooks.list_running(repo)
    return [h for h in missing if h not in configured or has_to_be_last(where, h)]


def has_to_be_last(where: str, hook: str) -> bool:
    """Whether a script in the directory is run after the configured hook though ours should be the
    last: a pre-push may refuse the push, and then nothing is sent.  Git LFS writes its own by
    itself, and refuses only what it cannot send: that may stay as it is."""
    path = os.path.join(where, hook)
    if hook != "pre-push" or not os.access(path, os.X_OK):
        return False
    return hook_texts.find_tool(_read_text(path)) != hook_texts.LFS


def _is_ours_called(repo: Repo, where: str, hook: str) -> bool:
    if not os.access(os.path.join(where, hook), os.X_OK):
        return False
    texts = read_texts(repo, where, hook)
    return hook_texts.is_ours_called(hook, texts[""], texts)


def read_texts(repo: Repo, where: str, hook: str) -> dict[str, str]:
    """suffix -> text of the files of a hook; OWN -> that of the file elsewhere that it calls:
    husky's calls one above its directory, those of core.hooksPath may call the repository's own."""
    texts = read_hook(where, hook).texts
    called = ""
    if is_huskys(where) and hook_texts.find_tool(texts[""]) == "husky":
        called = os.path.join(os.path.dirname(where), hook)
    elif _passes_on(repo, where, texts[""]):
        called = os.path.join(_join_own(repo), hook)
    text = ""
    if called:
        text = decode_name(files.peek(called) or b"")
    if text:
        return {**texts, hook_texts.OWN: text}
    return texts


def _join_own(repo: Repo) -> str:
    """The directory of hooks that git uses without core.hooksPath."""
    return os.path.join(repo.common, "hooks")


def _passes_on(repo: Repo, where: str, text: str) -> bool:
    """Whether a hook of this text in this directory calls that of the repository's own one."""
    is_own = os.path.realpath(where) == os.path.realpath(_join_own(repo))
    return not is_own and hook_texts.passes_on(text)


def list_on_branches(repo: Repo) -> list[tuple[str, str]]:
    """(which branches, the directory where git looks for hooks on them) for those that are not
    as the current one, by the files that `includeIf "onbranch:<pattern>"` names."""
    if not any(key.startswith(_ON_BRANCH) for key in repo.config.list_keys("includeif.", ".path")):
        return []
    here = find_folder(repo)
    found: list[tuple[str, str]] = []
    for pattern, path in _list_branch_files(repo):
        answer = repo.git.run("config", "--file", path, "--path", _HOOKS_PATH, ok=(0, 1))[1]
        name = decode_name(answer).rstrip("\n")
        folder = os.path.normpath(os.path.join(repo.worktree, name))
        if name and folder == here:
            if len(repo.config.get_all(_HOOKS_PATH.lower())) == 1:
                found.append(("other branches", _join_own(repo)))
        elif name:
            found.append((f"branches '{pattern}'", folder))
    return found


def _list_branch_files(repo: Repo) -> Iterator[tuple[str, str]]:
    """(pattern of branches, the file of configuration that git includes on them)."""
    listed = repo.git.run("config", "-z", "--show-origin", "--get-regexp", f"^{_ON_BRANCH}")[1]
    fields = [decode_name(field) for field in listed.split(b"\0")]
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        near = os.path.dirname(os.path.join(repo.worktree, origin.removeprefix("file:")))
        yield key[len(_ON_BRANCH) : -len(".path")], os.path.join(near, os.path.expanduser(value))


def _needs_file(repo: Repo, where: str, hook: str) -> bool:
    """Whether a hook is written into a file although git runs the configured one: gitcp's script is
    among its files, the original program's is to be replaced, or theirs has to run before it."""
    texts = read_texts(repo, where, hook)
    if any(hook_texts.is_ours(text) for text in texts.values()):
        return True
    return hook_texts.is_entire_hook(texts[""]) or has_to_be_last(where, hook)


def is_huskys(where: str) -> bool:
    """Whether husky writes a directory: each hook there calls its namesake one level above."""
    return os.path.basename(where) == "_" and os.path.isfile(os.path.join(where, "h"))


def plan_hooks(repo: Repo, record: Manifest, program: tuple[str, str], force: bool) -> Plan:
    """Plan what to write so that each of git's hooks runs gitcp; program: the interpreter and the
    entry file of build_script().

    Where git runs configured hooks, files are written only where they are needed beside those."""
    where = find_folder(repo)
    hooks = list(hook_texts.HOOKS)
    if configured_hooks.are_supported():
        hooks = [hook for hook in hooks if _needs_file(repo, where, hook)]
        if not hooks:
            return [], []
    if os.path.lexists(where) and not os.path.isdir(where):
        return [], [f"git runs no hooks here: '{where}' is not a directory"]
    planner = _Planner(repo, where, record, program, force)
    own = _Planner(repo, _join_own(repo), record, program, force)
    for hook in hooks:
        is_passed_on = _passes_on(repo, where, read_hook(where, hook).texts[""])
        (own if is_passed_on and not force else planner).plan_hook(hook)
    if "post-commit" in hooks:  # else Git LFS finds its own places free
        planner.plan_lfs_hook()
    writes = planner.writes + own.writes
    notes = planner.notes + own.notes
    if planner.refused:
        outside = len(planner.closed) == len(hook_texts.WRITTEN)
        notes.append(_format_refusal(where, outside, planner.refused))
    if is_huskys(where):
        names = [os.path.basename(w["path"]) for w in writes if w["path"].startswith(where)]
        notes += [_UNTIL_HUSKY.format(where, name) for name in names if "." not in name]
    elif writes and ".lefthook" in where.split(os.sep):
        notes.append(f"if lefthook writes '{where}' again, run 'gitcp enable' again")
    return writes, notes


class _Planner:
    """Plans the hooks of a directory, one by one.

    writes, notes: for the person.  closed: the hooks that others use too; refused: those of them
    that would have to be written.
    """

    def __init__(
        self, repo: Repo, where: str, record: Manifest, program: tuple[str, str], force: bool
    ) -> None:
        self._where = where
        self._record = record
        self._program = program
        self._force = force
        if force:
            self.closed = set()
        else:
            self.closed = _list_closed(repo, where)
        self.writes: list[Write] = []
        self.notes: list[str] = []
        self.refused: list[str] = []

    def plan_hook(self, hook: str) -> None:
        """Plan one of git's hooks, by the files that it has."""
        present = read_hook(self._where, hook)
        if hook in self.closed and hook_texts.is_ours_called(
            hook, present.texts[""], present.texts
        ):
            return
        if is_huskys(self._where):
            above = _plan_for_husky(present, hook, self._program, self._force)
            if above is not None:
                self.writes += above
                return
        moves = present.plan_strays(hook_texts.choose_suffix(hook, present.texts[""]))
        suffix = hook_texts.choose_suffix(hook, present.texts[""])
        path = present.path + suffix
        old = present.texts.get(suffix, "")
        if self._is_edited(hook, old):
            self.notes.append(_EDITED.format(path))
            return
        write = self._plan_script(present, hook, suffix)
        unchanged = decode_name(write["data"]) == old and os.access(path, os.X_OK)
        if unchanged and self._record.find(path):
            self.writes += moves
        elif hook in self.closed:
            self.refused.append(hook)
        else:
            self.writes += [*moves, write]

    def plan_lfs_hook(self) -> None:
        """Plan the hook that is for Git LFS alone: only where no hook of others is in its place."""
        hook = hook_texts.LFS_ONLY
        if hook in self.closed or is_huskys(self._where):
            return
        present = read_hook(self._where, hook)
        text = present.texts[""]
        is_lfs = hook_texts.is_ours(text) or hook_texts.find_tool(text) == hook_texts.LFS
        if is_lfs or not os.path.lexists(present.path):
            self.plan_hook(hook)
        else:
            self.writes += present.plan_strays(hook_texts.choose_suffix(hook, text))

    def _is_edited(self, hook: str, text: str) -> bool:
        if self._force or not hook_texts.is_whole(text):
            return False
        unedited = self._record.has_written(encode_name(text))
        return not (unedited or hook_texts.is_untouched(hook, text))

    def _plan_script(self, present: HookFiles, hook: str, suffix: str) -> Write:
        """Plan gitcp's script in the place of what is there: gitcp's own, the original program's,
        or another's, which the script calls."""
        path = present.path + suffix
        old = present.texts.get(suffix, "")
        chain: Chain | None = None
        write: Write = {"path": path, "kind": "hook", "data": b"", "note": "", "alone": True}
        write["note"] = f"wrote '{path}'"
        if hook_texts.is_ours(old):
            chain = hook_texts.parse_chain(old)
            if not self._record.find(path):
                write["adopted"] = True
                if chain and chain["suffix"] in present.texts:
                    write["aside"] = chain["suffix"]
        elif hook_texts.is_entire_hook(old):
            if hook_texts.ENTIRE_BACKUP in present.texts:
                chain = hook_texts.choose_chain(present.texts[hook_texts.ENTIRE_BACKUP])
                chain["suffix"] = hook_texts.ENTIRE_BACKUP
            write["note"] = f"took over '{path}' from Entire"
            write["aside"] = ""
        elif os.path.islink(path) or old.strip("\0\n\t "):  # a power cut may leave nothing in it
            chain = hook_texts.choose_chain(old)
            write["aside"] = hook_texts.BACKUP
            chain["suffix"] = suffix + hook_texts.BACKUP
            write["calls"] = hook_texts.find_tool(old)
            whose = f"{write['calls']}'s " if write["calls"] else ""
            write["note"] = f"wrote '{path}', which calls {whose}'{hook}{chain['suffix']}' too"
        if suffix:
            write["called_by"] = hook_texts.find_tool(present.texts[""])
            write["note"] += f", which {write['called_by']} calls"
        write["data"] = encode_name(hook_texts.build_script(hook, *self._program, chain))
        return write


def _plan_for_husky(
    present: HookFiles, hook: str, baked: tuple[str, str], force: bool
) -> list[Write] | None:
    """Plan the person's own hook above husky's directory, which husky writes again with each
    `npm install`; None if the person has one and force is not given."""
    above = os.path.dirname(os.path.dirname(present.path))
    theirs = read_hook(above, hook)
    old = theirs.texts[""]
    line = hook_texts.build_line(hook)
    if old and not hook_texts.is_ours(old) and line not in old and not force:
        return None
    moves = present.plan_strays()
    if hook_texts.is_ours(present.texts[""]):
        moves.append(present.plan_main())
    moves += theirs.plan_strays()
    write: Write = {"path": theirs.path, "kind": "hook", "data": b"", "note": "", "alone": True}
    if not old or hook_texts.is_ours(old):
        write["data"] = encode_name(hook_texts.build_script(hook, *baked))
        write["note"] = f"wrote '{theirs.path}', which husky calls"
        write["called_by"] = "husky"
    elif line not in old:
        glue = "" if old.endswith("\n") else "\n"
        write |= {"kind": "line", "data": encode_name(f"{old}{glue}{line}\n"), "lines": [line]}
        write["note"] = f"wrote a line into '{theirs.path}'"
        del write["alone"]
    unchanged = not write["data"] or decode_name(write["data"]) == old
    return moves if unchanged else [*moves, write]


def plan_removal(record: Manifest, folders: Iterable[str]) -> list[Write]:
    """Plan the removal of gitcp's hooks that are not in the record."""
    writes = []
    entries = [entry for entry in record.entries if not _is_moved_here(record, entry)]
    recorded = set(map(record.get_path, entries))
    for where in folders:
        for hook in hook_texts.WRITTEN:
            present = read_hook(where, hook)
            writes += present.plan_strays("", recorded)
            if hook_texts.is_ours(present.texts[""]) and present.path not in recorded:
                writes.append(present.plan_main())
    return writes


def _is_moved_here(record: Manifest, entry: Entry) -> bool:
    """Whether another unedited hook of gitcp is in the place of the recorded one: a tool moved it
    there, and it calls another file."""
    path = record.get_path(entry)
    if entry["kind"] != "hook" or record.is_intact(entry):
        return False
    hook = os.path.basename(path).partition(".")[0]
    old = decode_name(files.read_bytes(path) or b"")
    return hook_texts.is_ours(old) and hook_texts.is_untouched(hook, old)


def list_forgotten(folders: Iterable[str]) -> list[str]:
    """The hooks that were moved aside and that no hook of gitcp calls any more."""
    found: list[str] = []
    for where in folders:
        for present in (read_hook(where, hook) for hook in hook_texts.WRITTEN):
            for suffix in present.list_forgotten():
                if not present.is_tools(suffix):
                    found.append(present.path + suffix)
    return found


def is_former(hook: str, text: str, records: Iterable[Manifest]) -> bool:
    """Whether a hook is as an older gitcp wrote it and not edited, so that enable replaces it."""
    if not hook_texts.is_whole(text) or hook_texts.is_untouched(hook, text):
        return False
    return any(record.has_written(encode_name(text)) for record in records)


def _list_closed(repo: Repo, where: str) -> set[str]:
    """The hooks that other people or other repositories use too."""
    real = os.path.realpath(where)
    if object_lists.is_inside(real, repo.common) or object_lists.is_inside(real, repo.git_dir):
        return set()
    if repo.top is None or not object_lists.is_inside(real, repo.top):
        return set(hook_texts.WRITTEN)
    paths = [os.path.join(real, hook) for hook in hook_texts.WRITTEN]
    return {os.path.basename(path) for path in object_lists.list_tracked(repo, paths)}


def remove_ours(path: str, entry: Entry, data: bytes) -> bytes | None:
    """A hook without gitcp's part; None if nothing else is in it."""
    aside = entry["aside"]
    chained = bool(aside) and os.path.lexists(path + aside)
    rest = hook_texts.remove_ours(os.path.basename(path), decode_name(data), chained)
    return None if rest is None else encode_name(rest)


def _format_refusal(where: str, outside: bool, hooks: Iterable[str]) -> str:
    why = "has hooks that are tracked"
    if outside:
        why = "is outside the repository"
    lines = [f"    {where}/{hook}: {hook_texts.build_line(hook)}" for hook in hooks]
    return "\n".join([f"'{where}' {why}: --force writes there; or add these lines:", *lines])


def read_hook(folder: str, hook: str) -> HookFiles:
    """The files of a hook in a directory."""
    path = os.path.join(folder, hook)
    ends = [name[len(hook) :] for name in _list_names(folder) if name.startswith(hook)]
    suffixes = ["", *(end for end in ends if end and end[0] in "._~")]
    return HookFiles(path, {suffix: _read_text(path + suffix) for suffix in suffixes})


class HookFiles:
    """The files of one hook: the hook itself, with the suffix '', and its namesakes with others.

    Each is gitcp's script or a foreign one.  gitcp's scripts call others by their chains.  A script
    of gitcp under a wrong suffix is a stray, which another hook manager moved there: the foreign
    file that it calls takes its place, or it is removed.  Copies that a tool made of its own hook
    are removed.

    Planning changes `texts` alone; clear_stray() carries a plan out.
    """

    def __init__(self, path: str, texts: dict[str, str]) -> None:
        """path: of the hook; texts: suffix -> content."""
        self.path = path
        self.texts = texts

    def plan_main(self) -> Write:
        """Plan to put the foreign file that gitcp's hook calls in its place, or to remove it."""
        called = self._find_called("")
        if called:
            return self._plan_move("", called)
        return self._plan_removal("")

    def plan_strays(self, main: str = "", record: Container[str] = ()) -> list[Write]:
        """Plan the moves and removals of strays and copies, before the hook itself is written.

        main: the suffix where gitcp's hook belongs.  Paths in record stay.
        """
        moves = [self._plan_removal(suffix) for suffix in self._list_copies()]
        called_by_main = ""
        if main in self._list_ours():
            called_by_main = self._find_called(main)
        for suffix in self._list_ours():
            if suffix in ("", main) or self.path + suffix in record:
                continue
            called = self._find_called(suffix)
            if called and called == called_by_main and suffix not in self._walk_chain(main):
                called = ""  # it stays where it is: the hook itself calls it too
            elif called and self.has_twin(called) and not self._is_called_by_tool(suffix):
                moves.append(self._plan_removal(called))
                called = ""
            moves.append(self._plan_move(suffix, called) if called else self._plan_removal(suffix))
        return moves

    def plan_aside_of(self, tool: str) -> list[Write]:
        """Plan the removal of the files of a tool that were moved aside."""
        asides = [suffix for suffix in self.texts if hook_texts.BACKUP in suffix]
        theirs = [s for s in asides if hook_texts.find_tool(self.texts[s]) == tool]
        return [self._plan_removal(suffix) for suffix in theirs]

    def list_forgotten(self) -> list[str]:
        """The suffixes of foreign hooks that were moved aside and that gitcp no longer calls."""
        aside = [suffix for suffix in self.texts if hook_texts.BACKUP in suffix]
        used = {*self._list_ours(), *self._list_called()}
        return [suffix for suffix in aside if suffix not in used]

    def has_twin(self, suffix: str) -> bool:
        """Whether the tool that wrote this file wrote another one that was not moved aside."""
        tool = hook_texts.find_tool(self.texts[suffix])
        current = (t for s, t in self.texts.items() if s != suffix and hook_texts.BACKUP not in s)
        return tool != "" and any(hook_texts.find_tool(text) == tool for text in current)

    def is_tools(self, suffix: str) -> bool:
        """Whether a tool wrote this file, so that it can write it again."""
        return hook_texts.find_tool(self.texts[suffix]) != ""

    def _list_ours(self) -> list[str]:
        return [suffix for suffix, text in self.texts.items() if hook_texts.is_ours(text)]

    def _list_called(self) -> set[str]:
        """The suffixes of the foreign files that gitcp's scripts call."""
        found: set[str] = set()
        for suffix in self._list_ours():
            called = self._find_called(suffix)
            if called:
                found.add(called)
        return found

    def _find_called(self, suffix: str) -> str:
        """The suffix of the foreign file that a script of gitcp calls in the end; '' for none."""
        foreign = (s for s in self._walk_chain(suffix) if s not in self._list_ours())
        called = next(foreign, "")
        return called if called in self.texts else ""

    def _walk_chain(self, suffix: str) -> list[str]:
        """The suffixes of the files that a script of gitcp calls, one after the other."""
        called: list[str] = []
        chain = hook_texts.parse_chain(self.texts[suffix])
        while chain and chain["suffix"] not in called:
            called.append(chain["suffix"])
            chain = hook_texts.parse_chain(self.texts.get(chain["suffix"], ""))
        return called

    def _list_copies(self) -> list[str]:
        """The suffixes of files that a tool wrote and that nothing is to call: those that gitcp
        calls if the hook itself is of the same tool, and forgotten ones, whose tool has another
        hook, or was uninstalled and did not find this one."""
        main = self.texts[""]
        copies = list[str]()
        if main and not hook_texts.is_ours(main):
            called = self._list_called()
            copies = [s for s in called if hook_texts.is_same_tool(self.texts[s], main)]
        return [*copies, *filter(self.is_tools, self.list_forgotten())]

    def _is_called_by_tool(self, suffix: str) -> bool:
        """Whether the hook itself, which is a tool's, calls this file."""
        return hook_texts.is_called(os.path.basename(self.path), self.texts[""], suffix)

    def _plan_removal(self, suffix: str) -> Write:
        del self.texts[suffix]
        path = self.path + suffix
        return {"path": path, "kind": "stray", "data": b"", "note": f"removed '{path}'"}

    def _plan_move(self, suffix: str, source_suffix: str) -> Write:
        self.texts[suffix] = self.texts.pop(source_suffix)
        path = self.path + suffix
        source = self.path + source_suffix
        note = f"put '{source}' back as '{path}'"
        return {"path": path, "kind": "stray", "data": b"", "note": note, "source": source}


def clear_stray(write: Write) -> None:
    """Move or remove a stray as planned; one that is gone by now is no error."""
    if "source" not in write:
        files.remove_file(write["path"])
    elif os.path.lexists(write["source"]):
        os.replace(write["source"], write["path"])


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read_text(path: str) -> str:
    if os.path.isfile(path):
        return decode_name(files.read_bytes(path) or b"")
    return ""


def list_addable(repo: Repo, paths: Iterable[str]) -> list[str]:
    """Those of paths (absolute) that `git add -A` would add, relative to the top."""
    top, inside = object_lists.list_inside(repo, paths)
    inside = [path for path in inside if path.partition("/")[0] != ".git"]
    tracked = {os.path.relpath(path, top) for path in object_lists.list_tracked(repo, paths)}
    ignored = Worktree(repo).list_ignored(inside)
    return [path for path in inside if path not in tracked | ignored]


def plan_exclude(repo: Repo, paths: list[str]) -> Write:
    """The write that makes git ignore paths, relative to the top, in this clone."""
    path = os.path.join(repo.common, "info", "exclude")
    after, lines = exclude_file.exclude_paths(decode_name(files.read_bytes(path) or b""), paths)
    note = f"wrote '{path}', to keep {', '.join(paths)} out of commits"
    data = encode_name(after)
    return {"path": path, "kind": "exclude", "data": data, "note": note, "lines": lines}
