"""One commit for each session, or each prompt, of a change (doc/behaviour.md "Splitting").

`git commit` makes the commits in a repository of its own below <git-dir>/gitcp/split, which reads
the objects, the configuration and the branches of the person's and runs their hooks.  HEAD, index
and branches of the person's move once, when all commits are made; until then a failure or a kill
leaves nothing but that directory.
"""

from __future__ import annotations

import os
from functools import cached_property

from gitcp.checkpoints import listing, notes, redactor
from gitcp.checkpoints.format import schema
from gitcp.checkpoints.stored import list_session_ids, read_checkpoint, read_session
from gitcp.errors import Busy, Changed, Error, Moved
from gitcp.git import (
    build_person_env,
    commit_message,
    encode_name,
    files,
    objects,
    refs,
    silence_hooks,
)
from gitcp.git.commit_message import KEY
from gitcp.git.files import exclusive
from gitcp.git.objects import compare_trees, edit_tree, find_tree, need_commit, object_lists
from gitcp.link import commit_sessions, unhooked
from gitcp.record import match, session
from gitcp.record.journal import edits
from gitcp.record.session import make_id, others
from gitcp.record.snapshot import index
from gitcp.record.stream import writing
from gitcp.steps import effects, undo
from gitcp.steps.back.plan import OURS
from gitcp.steps.commits import auto, stage
from gitcp.steps.commits.scratch import Copy, remove_folder
from gitcp.steps.commits.stage import Selection, get_writer
from gitcp.text import json, prompt_text, term
from gitcp.text.ids import UNKNOWN
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import TypedDict

    from gitcp.checkpoints.stored import StoredCheckpoint
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.steps.commits.stage import Change, Left, Part, Stager
    from gitcp.text.record_types import Commit, Linked, Version, Writer

    Key = tuple[str, str]  # a session, and its turn or ''

    class Share(TypedDict):
        """What becomes a commit.  session_id: '' and key: None for what no session wrote.  turns:
        those that wrote it, oldest first.  tree: the commit's.  checkpoint_id: '' for none."""

        session_id: str
        key: Key | None
        turns: list[str]
        parts: list[Part]
        tree: str
        message: str
        checkpoint_id: str

    class Made(TypedDict):
        """A commit that was made of a share.  parent: '' for none."""

        share: Share
        commit: str
        parent: str

    class Link(TypedDict):
        """What is to be stored of a commit.  replaced: the commit that was split, '' for none."""

        commit: str
        parent: str
        replaced: str
        session_id: str
        checkpoint_id: str
        paths: list[str]


FOLDER = "split"
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")


class _Prompts(Selection):
    """What several turns of sessions wrote."""

    def __init__(self, keys: Collection[Key]) -> None:
        super().__init__(list(dict.fromkeys(session_id for session_id, _ in keys)))
        self._keys = set(keys)

    def has(self, who: Writer) -> bool:
        return (who[0], who[1]) in self._keys or (who[0], "") in self._keys


def read_change(repo: Repo, of_head: bool, by_prompt: bool, dry: bool) -> Splitter:
    """What divides the worktree's change, or that of the last commit.

    dry: write nothing into the journal.  Raises Error if the last commit cannot be split."""
    head = refs.read_head(repo) or ""
    if not of_head:
        return Splitter(repo, stage.read_change(repo, dry), head, None, by_prompt)
    commit = _need_last(repo, head)
    stager = stage.read_change_since(repo, commit["parents"][0], dry)
    return Splitter(repo, stager, head, commit, by_prompt)


class Splitter:
    """Divides the change of the worktree, or of HEAD, among those who wrote it.

    overlaps, needs: what the chosen sessions wrote and no commit gets, by list_left()."""

    def __init__(
        self, repo: Repo, stager: Stager, head: str, commit: Commit | None, by_prompt: bool
    ) -> None:
        """commit: the last one, None to divide the worktree's change."""
        self._repo = repo
        self.stager = stager
        self._by_prompt = by_prompt
        self.head = head
        self.commit = commit
        self.parent = commit["parents"][0] if commit else head
        self.overlaps: list[Left] = []
        self.needs: list[Left] = []

    @property
    def target(self) -> str:
        """The tree that is divided: the worktree's, or that of the last commit."""
        if self.commit:
            return self.commit["tree"]
        return self.stager.present.tree

    @cached_property
    def _first(self) -> str | None:
        return find_tree(self._repo.objects, self.parent or None)

    @cached_property
    def _writers(self) -> dict[str, dict[Key, int]]:
        return {p: self._list_writers(p, *c) for p, c in self._compare(self._first)}

    @property
    def first(self) -> str:
        """The tree on which the first commit is made."""
        return self._first or self._repo.empty_tree

    def _compare(self, tree: str | None) -> Iterator[tuple[str, Change]]:
        """Yield the paths of which something is left after a tree, with the change."""
        for path, old, new in compare_trees(self._repo.objects, tree, self.target):
            if not path.startswith(OURS):
                yield path, (old, new)

    def _list_writers(self, path: str, old: Version, new: Version) -> dict[Key, int]:
        """Who changed a path, each with the time of the first edit."""
        found: dict[Key, int] = {}
        for edit in self.stager.list_edits(path, old, new):
            who = get_writer(edit)
            if who != UNKNOWN and who[0]:
                found.setdefault((who[0], who[1] if self._by_prompt else ""), int(edit["at"]))
        return found

    def list_keys(self, session_ids: Collection[str]) -> list[Key]:
        """Those who changed something, oldest first.  session_ids: of these sessions, none: all."""
        first: dict[Key, int] = {}
        for writers in self._writers.values():
            for key, at in writers.items():
                if not session_ids or key[0] in session_ids:
                    first[key] = min(at, first.get(key, at))
        return sorted(first, key=lambda key: (first[key], key))

    def plan(self, keys: Sequence[Key], tree: str, with_overlaps: bool) -> Iterator[Share]:
        """Yield the share of each of keys that has one, on the tree of the commit before.

        with_overlaps: lines that several of keys replaced are of the last of them."""
        for n, key in enumerate(keys):
            same = [k for k in keys[: n + 1] if with_overlaps or k[0] == key[0]]
            parts = self._divide(tree, key, same)
            if parts:
                changed = {part["path"]: part["new"] for part in parts}
                tree = edit_tree(self._repo.objects, tree, changed)
                yield self._make_share(key, parts, tree)

    def _divide(self, tree: str, key: Key, same: Sequence[Key]) -> list[Part]:
        changes = {p: c for p, c in self._compare(tree) if key in self._writers.get(p, ())}
        return self.stager.divide(changes, _Prompts(same))

    def list_left(self, keys: Sequence[Key], tree: str) -> None:
        """Set overlaps and needs: what keys wrote that the commits up to a tree lack, and why."""
        self.overlaps = []
        self.needs = []
        for session_id in dict.fromkeys(session_id for session_id, _ in keys):
            keys_of_session = [key for key in keys if key[0] == session_id]
            changes = {
                p: c
                for p, c in self._compare(tree)
                if {*keys_of_session} & {*self._writers.get(p, ())}
            }
            self.stager.divide(changes, _Prompts(keys_of_session))
            self.overlaps += [one for one in self.stager.overlaps if one not in self.overlaps]
            self.needs += self.stager.needs

    def make_rest(self, tree: str) -> Share | None:
        """What no share has of the last commit, which keeps its message; None if nothing is
        left."""
        if self.commit is None or tree == self.commit["tree"]:
            return None
        message = self.commit["message"]
        keys = [k for w in self._writers.values() for k in w]
        self.list_left(keys, tree)
        parts = [self.stager.count_lines(path, *change) for path, change in self._compare(tree)]
        is_linked = bool(self.overlaps or self.needs)
        if not is_linked:
            message = commit_message.remove_trailers(encode_name(message)).decode(
                errors="surrogateescape"
            )
        return {
            "session_id": "",
            "key": None,
            "turns": [],
            "parts": parts,
            "tree": self.commit["tree"],
            "message": message,
            "checkpoint_id": "",
        }

    def _make_share(self, key: Key, parts: list[Part], tree: str) -> Share:
        session_id = key[0]
        state = others.peek_state(self._repo, key[0])
        known: dict[str, dict[str, object]] = (state or {}).get("turns", {})
        if key[1]:
            turns = [key[1]]
        else:
            turns = self._list_turns(session_id, parts)
        agent = (state or {}).get("agent_type") or "an agent"
        prompts = [str(known.get(turn, {}).get("prompt") or "") for turn in turns]
        checkpoint_id = make_id() if state else ""
        if not state:
            stored = self._find_stored(session_id)
            if stored:
                checkpoint_id = stored["checkpoint_id"]
                prompts = _list_stored_prompts(self._repo, stored, key, parts)
        draft = prompt_text.make_draft(prompts, agent)
        draft = redactor.redact_text(self._repo, draft, session_id)
        link = checkpoint_id and self._repo.config.get_option("gitcp.link") != "note"
        disclosed = self._repo.config.get_option("gitcp.disclose")
        lines = [f"{KEY}: {checkpoint_id}"] if link else []
        if disclosed:
            lines += unhooked.format_lines(self._repo, disclosed, [session_id])
        message = "\n".join([draft, *(["", *lines] if lines else []), ""])
        return {
            "session_id": session_id,
            "key": key,
            "turns": turns,
            "parts": parts,
            "tree": tree,
            "message": message,
            "checkpoint_id": checkpoint_id,
        }

    def _find_stored(self, session_id: str) -> StoredCheckpoint | None:
        """The checkpoint of the commit that is split that has a session, whose state has gone."""
        if self.commit is None:
            return None
        for checkpoint_id in listing.list_ids(self._repo, self.commit["oid"]):
            if session_id in list_session_ids(self._repo, checkpoint_id):
                return read_checkpoint(self._repo, checkpoint_id)
        return None

    def _list_turns(self, session_id: str, parts: Sequence[Part]) -> list[str]:
        """The turns of a session that edited the paths of parts, oldest first."""
        turns: dict[str, int] = {}
        paths = {part["path"] for part in parts}
        for path, change in self._compare(self._first):
            for edit in self.stager.list_edits(path, *change) if path in paths else ():
                who = get_writer(edit)
                at = int(edit["at"])
                if who[0] == session_id and who[1]:
                    turns[who[1]] = min(at, turns.get(who[1], at))
        return sorted(turns, key=turns.__getitem__)


def _list_stored_prompts(
    repo: Repo, stored: StoredCheckpoint, key: Key, parts: Sequence[Part]
) -> list[str]:
    """The prompts of a session or turn that led to parts of a commit, by its checkpoint."""
    content = read_session(repo.objects, stored, key[0])
    files = schema.build_part(content["metadata"] or {})["files"]
    causes = [files[part["path"]] for part in parts if part["path"] in files]
    asked = [cause["prompt"] for cause in causes if key[1] in ("", cause["turn_id"])]
    return schema.choose_prompts(asked, content["prompts"])


def _need_last(repo: Repo, head: str) -> Commit:
    """The last commit; raises Error if it cannot be split."""
    if not head:
        raise Error("there is no commit yet")
    commit = need_commit(repo.objects, head)
    if len(commit["parents"]) != 1:
        raise Error("a merge, or a commit without a parent, cannot be split")
    if effects.is_pushed(repo, head, commit["parents"][0]):
        raise Error("HEAD was pushed: to split it would rewrite what others have")
    return commit


def refuse(repo: Repo, shares: Sequence[Share], named: Collection[str]) -> None:
    """Raise Error if these commits may not be made now.  named: the sessions that may be in
    mid-turn."""
    for operation in index.list_under_way(repo):
        raise Error(f"{operation} is in progress")
    for session_id in dict.fromkeys(share["session_id"] for share in shares):
        marker = None
        if session_id:
            marker = session.find_marker(repo, session_id)
        if marker and session_id not in named and others.is_at_work(repo, marker):
            raise Error(
                f"session {shorten_id(session_id)} is in mid-turn: wait for its end, or name it by"
                f" '--session {shorten_id(session_id)}' to take what it has written so far"
            )


def map_entries(
    repo: Repo, old: str, new: str, target: str
) -> tuple[dict[str, Version], dict[str, Version]]:
    """The entries of the index that change when HEAD's tree old becomes new; those that are staged
    stay.  Raises Error if one of these is staged otherwise than in the tree target."""
    staged = index.list_staged(repo, old)
    wanted = objects.Lookup(repo.objects, target)
    befores: dict[str, Version] = {}
    afters: dict[str, Version] = {}
    for path, before, after in compare_trees(repo.objects, old, new):
        if path not in staged:
            befores[path] = before
            afters[path] = after
        elif staged[path] != objects.find_file(wanted, path):
            raise Error(
                f"'{path}' has staged changes that the worktree lacks:"
                f" 'git add' or 'git restore --staged' it first"
            )
    return befores, afters


class Bench:
    """The repository in which the commits are made, in a `with`."""

    def __init__(self, repo: Repo, head: str, author: Commit | None) -> None:
        """author: the commit whose author and date the commits get, None: the person, now."""
        self._repo = repo
        self._author = author
        self._place = repo.join_own(FOLDER, make_id())
        self.head = head

    def __enter__(self) -> Bench:
        self._repo.make_folder(os.path.dirname(self._place))
        os.mkdir(self._place, 0o700)
        try:
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _prepare(self) -> None:
        repo = self._repo
        hooks = os.path.join(self._place, "hooks")
        settings = silence_hooks("post-commit", "post-rewrite")
        settings["core.hooksPath"] = hooks
        self._copy = Copy(
            os.path.join(self._place, "worktree"), repo.git, repo.git_dir, repo.common, settings
        )
        self._copy.create()
        self._git_dir = os.path.join(self._copy.top, ".git")
        _write_hooks(repo, hooks)
        entries = index.copy_index(repo, "split-index")
        tree = find_tree(self._repo.objects, self.head or None) or repo.empty_tree
        entries.run("-c", "core.splitIndex=false", "read-tree", "--reset", tree)
        os.rename(entries.path, os.path.join(self._git_dir, "index"))
        if self.head:
            self._copy.git.run("update-ref", "HEAD", self.head)

    def __exit__(self, *_: object) -> None:
        remove_folder(self._place)

    def make_commit(self, share: Share, edit: bool) -> Made:
        """Commit a share on the commit before, with the person's hooks, and their editor if edit
        is set.  Raises Error if it is not made."""
        env = self._build_env()
        draft = os.path.join(self._place, "draft")
        with open(draft, "wb") as file:
            file.write(encode_name(share["message"]))
        self._put(share["tree"])
        words = ["git", "-C", self._repo.worktree, "commit", "-q", "-F", draft]
        if edit:
            words += ["-e"]
        before = self.head
        status = term.run_foreground(words, env)
        self.head = self._copy.git.run("rev-parse", "-q", "--verify", "HEAD", ok=(0, 1))[1].decode()
        self.head = self.head.strip()
        if status or self.head == before:
            raise Error(f"'git commit' ended with {status}; everything is as it was")
        return {"share": share, "commit": self.head, "parent": before}

    def _put(self, tree: str) -> None:
        """Give the index the entries of a tree."""
        git = self._copy.git
        self._repo.objects.flush()
        git.run("read-tree", "--reset", tree)
        env = {"GIT_WORK_TREE": self._repo.worktree, "GIT_DIR": self._git_dir}
        git.copy_with(self._repo.worktree, env).run("update-index", "-q", "--refresh", ok=(0, 1))

    def _build_env(self) -> dict[str, str]:
        env = {k: v for k, v in build_person_env(os.environ).items() if k not in auto.TIES}
        env |= {"GIT_DIR": self._git_dir, "GIT_WORK_TREE": self._repo.worktree}
        env |= {"GITCP_ACTIVE": auto.CONFIGURED}
        if self._author:
            name, _, rest = self._author["author"].rpartition(" <")
            mail, _, date = rest.partition("> ")
            env |= {
                "GIT_AUTHOR_NAME": name,
                "GIT_AUTHOR_EMAIL": mail,
                "GIT_AUTHOR_DATE": f"@{date}",
            }
        return env

    def read_tree(self) -> str:
        """The tree of the newest commit."""
        return self._copy.git.read_line("rev-parse", f"{self.head}^{{tree}}").decode()

    def hand_over(self, old: str) -> None:
        """Bring the objects of the commits since old into the person's repository."""
        wanted = f"{self.head}\n" + (f"^{old}\n" if old else "")
        args = ("pack-objects", "--revs", "--local", "--stdout", "-q")
        pack = self._copy.git.run(*args, stdin=wanted.encode())[1]
        self._repo.git.run("unpack-objects", "-q", stdin=pack)


def _write_hooks(repo: Repo, folder: str) -> None:
    """Write a hook for each of the person's that decides about a commit."""
    place = repo.git.read_line("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    os.mkdir(folder)
    for name in _HOOKS:
        theirs = os.path.join(os.fsdecode(place), name)
        if os.access(theirs, os.X_OK):
            quoted = theirs.replace("'", "'\\''")
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"#!/bin/sh\nexec '{quoted}' \"$@\"\n")
            os.chmod(path, 0o700)


def hold(repo: Repo) -> exclusive:
    """The lock under which one process at a time splits; Busy at once if one does."""
    return exclusive(repo, f"split-{repo.worktree_hash}", timeout=0)


def list_scratch(repo: Repo) -> list[str]:
    """The repositories of this worktree's splits.  Without the lock one of them may be in use."""
    return [repo.join_own(FOLDER, name) for name in files.list_names(repo.join_own(FOLDER))]


def remove_abandoned(repo: Repo) -> None:
    """Remove the repositories that kills left.  The caller holds the lock."""
    for path in list_scratch(repo):
        remove_folder(path)


def publish(repo: Repo, made: Sequence[Made], head: str, target: str, branch: str) -> str:
    """Move HEAD from head to the last of the commits, and the index with it, as a step of the undo
    log; return its id.  Raises Error, with nothing changed, if HEAD or the index has changed."""
    if refs.read_branch(repo) != branch:
        raise Error("another branch was checked out meanwhile; everything is as it was")
    new = made[-1]["commit"]
    old_tree = find_tree(repo.objects, head or None) or repo.empty_tree
    entries = map_entries(repo, old_tree, need_commit(repo.objects, new)["tree"], target)
    effect = effects.describe_commits(repo, entries, (head, new))
    step = undo.make_step(
        "split", f"{count_noun(len(made), 'commit')} of {_name_base(head)}", [effect]
    )
    subject = need_commit(repo.objects, new)["message"].partition("\n")[0]

    def move() -> None:
        written = undo.write_step(repo, step, None)
        undo.append_step(repo, written)
        try:
            effects.move_head(repo, (head, new), f"commit: {subject}")
        except BaseException:
            undo.withdraw_step(repo, written)
            raise

    with undo.hold_log(repo):
        try:
            index.replace_entries(repo, *entries, move)
        except (Changed, Moved) as e:
            raise Error(f"{e}; everything is as it was") from None
    return str(step["id"])


def _name_base(head: str) -> str:
    return abbreviate(head) if head else "no commit"


# Storing the checkpoints of commits that are made: <git-dir>/gitcp/split-links says what is to be
# done from before HEAD moves until it is done.
_LINK = {
    **dict.fromkeys("commit parent replaced session_id checkpoint_id".split(), str),
    "paths": [str],
}


def note_links(repo: Repo, made: Sequence[Made], replaced: str) -> None:
    """Write down what is to be stored of the commits, once HEAD has them."""
    links: list[Link] = [
        {
            "commit": one["commit"],
            "parent": one["parent"],
            "replaced": replaced,
            "session_id": one["share"]["session_id"],
            "checkpoint_id": one["share"]["checkpoint_id"],
            "paths": [part["path"] for part in one["share"]["parts"]],
        }
        for one in made
    ]
    data = json.dumps(links).encode()
    files.write_private(repo, _get_links_path(repo), data, durable=True)


def is_unlinked(repo: Repo) -> bool:
    """Whether there is something to store of commits, unless their split runs."""
    return os.path.exists(_get_links_path(repo))


def finish(ctx: Context) -> None:
    """Store what a killed split has not stored of its commits; nothing while a split runs."""
    try:
        with hold(ctx.repo):
            link(ctx)
    except Busy:
        return


def link(ctx: Context) -> None:
    """Store the checkpoint of each commit that was noted and that HEAD has, and move the streams
    on.  The caller holds the lock."""
    links: list[Link] = files.load_cache(_get_links_path(ctx.repo), [_LINK]) or []
    if links and object_lists.is_ancestor(ctx.repo, links[-1]["commit"], "HEAD"):
        for n, one in enumerate(links):
            _link_one(ctx, one, is_first=not n, is_last=one is links[-1])
    files.remove_private(ctx.repo, _get_links_path(ctx.repo))


def _link_one(ctx: Context, one: Link, is_first: bool, is_last: bool) -> None:
    repo = ctx.repo
    commit = need_commit(repo.objects, one["commit"])
    replaced = one["replaced"]
    old = one["parent"] or refs.get_zeros(repo)
    with ctx:
        settled = _store(ctx, commit, one, (is_first and replaced) or old)
        ctx.leave()  # streams are moved by the states on disk
        changes = objects.read_changes(repo.objects, commit)[1]
        edits.settle_commit(repo, commit, changes)
        if not replaced:
            writing.carry_streams(repo, old, commit, settled)
        elif is_last:
            writing.carry_streams(repo, replaced, commit, None)
        match.add_judged(repo, commit["oid"], replaced or old)


def _store(ctx: Context, commit: Commit, one: Link, old: str) -> set[str] | None:
    """Store the session of a commit as its checkpoint; the sessions that were settled."""
    repo = ctx.repo
    checkpoint_id = one["checkpoint_id"]
    state = None
    if checkpoint_id:
        state = ctx.read_state(one["session_id"])
    noted = repo.config.get_option("gitcp.link") == "note"
    if state is None:
        if checkpoint_id and noted:
            notes.add_link(repo, commit["oid"], checkpoint_id)
        return None
    ids = commit_message.read_trailers(encode_name(commit["message"]))
    if not noted and checkpoint_id not in ids:  # the person has removed it
        commit_sessions.dismiss_sessions(repo, commit, [state], old)
        match.write_refused(repo, [checkpoint_id])
        ctx.keep(state)
        return None
    if one["session_id"] not in list_session_ids(repo, checkpoint_id):
        linked: Linked = {"how": "content", "paths": one["paths"], "reasons": {}}
        commit_sessions.store_sessions(repo, commit, checkpoint_id, [(state, linked)], old, noted)
    ctx.keep(state)
    return {one["session_id"]}


def _get_links_path(repo: Repo) -> str:
    return repo.join_own("split-links")
