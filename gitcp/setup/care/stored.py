"""Checks of the permanent store: layout, JSON, paths and hashes of every checkpoint."""

from __future__ import annotations

import hashlib
import os
import re

from gitcp.agents import transcripts
from gitcp.checkpoints import format, links, listing, notes, recorded_edits, redactor
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.format import schema
from gitcp.checkpoints.share import remote
from gitcp.checkpoints.stored import find_checkpoint, list_numbers, read_checkpoint
from gitcp.checkpoints.transcripts import CHUNKS, hash_chunks
from gitcp.errors import Error, GitError
from gitcp.git import files, objects, refs
from gitcp.git.files import locate_scratch
from gitcp.git.gitdir import packs
from gitcp.git.objects import TREE, cat_file, object_lists, read_commit, read_tree
from gitcp.git.objects.object_lists import is_ancestor
from gitcp.git.objects.reading import split_windows, spread_batches
from gitcp.git.records import decode_lines, encode_lines, parse_json
from gitcp.link import unhooked
from gitcp.link.commits import list_bare_commits
from gitcp.record import match
from gitcp.record.match import candidates, holding
from gitcp.setup.care import repair, unfinished
from gitcp.setup.care.case import OURS
from gitcp.setup.care.findings import make_finding
from gitcp.setup.care.repair import LOCK_AGE, SCRATCH_AGE, WALK, is_stream, list_lacking
from gitcp.text import console, ids, term
from gitcp.text.ids import CHECKPOINTS, V1, parse_checkpoint_ref
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format import Metadata
    from gitcp.checkpoints.stored import StoredCheckpoint
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Case, Survey
    from gitcp.text.record_types import Finding, Tree

    _Window = list[tuple[str, str] | Finding]
    Link = tuple[str, str]  # commit, id

_KEYS = ("metadata", "transcript", "context", "content_hash", "prompt")
_HEX = frozenset("0123456789abcdef")
_WINDOW = 64  # checkpoints whose objects are read at once
_LAST = 999  # the last three-digit chunk: names above it sort wrongly
_ALONE = 16  # windows before workers are started: a start costs what 200 checkpoints do


def look_at_checkpoints(case: Case) -> Iterator[Finding]:
    """Check every checkpoint of the store in today's layout, with its transcripts.

    Data without cli_version is older than some rules: breaking one is a note there, since readers
    accept it (doc/formats.md "Accepted variations").
    """

    def begin(objects: Objects) -> Callable[[_Window], list[Finding]]:
        hashes = Hashes()
        return lambda window: list(_check_checkpoints(objects, hashes, window))

    for source in (ref for ref in case.sources if not ref.endswith("/entire/sessions")):
        windows = split_windows(_list_checkpoints(case.repo, source), _WINDOW)
        batches = spread_batches(case.repo.objects, windows, begin, _ALONE)
        for number, findings in enumerate(batches, 1):
            yield from findings
            term.show_count("checking checkpoints", number * _WINDOW)


def _list_checkpoints(repo: Repo, source: str) -> Iterator[tuple[str, str] | Finding]:
    """(id, tree) of each checkpoint; a finding for everything else."""
    if source != ids.CHECKPOINTS:
        yield from _list_on_branch(repo.objects, source)
        return
    for ref in refs.list_refs(repo, source):
        if not ids.parse_checkpoint_ref(ref):
            yield make_finding("stray", ref, "not the name of a checkpoint")
    with console.Collected():  # another check reports a ref that cannot be read
        yield from listing.list_trees(repo, source, "")


def _list_on_branch(objects: Objects, ref: str) -> Iterator[tuple[str, str] | Finding]:
    tip = objects.read(f"{ref}^{{tree}}")
    entries = read_tree(objects, tip[0]) if tip else {}
    objects.read_ahead(oid for mode, oid in entries.values() if mode == TREE)
    for shard, (mode, oid) in entries.items():
        if mode != TREE or len(shard) != 2 or not _HEX.issuperset(shard):
            yield make_finding("stray", f"{ref}:{shard}", "part of no checkpoint")
            continue
        try:
            below = read_tree(objects, oid)
        except Error as e:
            yield make_finding("missing-object", f"{ref}:{shard}", str(e))
            continue
        for name, (kind, tree) in below.items():
            if kind == TREE and ids.is_checkpoint_id(shard + name):
                yield shard + name, tree
            else:
                yield make_finding("stray", f"{ref}:{shard}/{name}", "part of no checkpoint")


def _check_checkpoints(objects: Objects, hashes: Hashes, window: _Window) -> Iterator[Finding]:
    yield from (item for item in window if isinstance(item, dict))
    checkpoints = [item for item in window if isinstance(item, tuple)]
    loader = listing.Loader(objects)
    loader.prepare((tree for _, tree in checkpoints), format.HASH)
    files = (file for tree in loader.trees.values() for file in tree.items())
    objects.ahead.fetch_small(
        oid for name, (_, oid) in files if transcripts.parse_number(name) is not None
    )
    for checkpoint_id, tree in checkpoints:
        try:
            yield from _check_checkpoint(objects, hashes, checkpoint_id, tree, loader.trees)
        except Error as e:  # the other checkpoints are checked all the same
            # Whether the remote promised it is looked at for all refs together.
            is_partial = bool(cat_file.find_promisor(objects.repo))
            if is_partial and cat_file.lacks_objects(objects.repo, [tree]):
                yield make_finding("absent", checkpoint_id, f"it is not checked: {e}")
            else:
                yield make_finding("missing-object", checkpoint_id, str(e))
    objects.ahead.forget()


def _check_checkpoint(
    objects: Objects,
    hashes: Hashes,
    cid: str,
    tree: str,
    trees: Mapping[str, Tree],
) -> Iterator[Finding]:
    entries = _get_tree(objects, tree, trees)
    folders = {name: _get_tree(objects, entries[name][1], trees) for name in list_numbers(entries)}
    root = _read_json(objects, entries)
    parsed = {name: _read_json(objects, files) for name, files in folders.items()}
    old = not any((metadata or {}).get("cli_version") for metadata in (root, *parsed.values()))
    if root is None:
        yield make_finding("bad-summary", cid, "metadata.json is missing or not a JSON object")
    else:
        yield from _report_complaints("bad-summary", cid, schema.check_root(root, cid), old)
        yield from _check_paths(cid, root, folders, old)
    for name, listed in folders.items():
        where = f"{cid}/{name}"
        metadata = parsed[name]
        if metadata is None:
            why = "metadata.json is missing or not a JSON object"
            yield make_finding("bad-metadata", where, why)
        else:
            complaints = schema.check_session(metadata, cid)
            yield from _report_complaints("bad-metadata", where, complaints, old)
        yield from _check_transcript(objects, hashes, where, metadata or {}, listed, old)


def _get_tree(objects: Objects, oid: str, trees: Mapping[str, Tree]) -> Tree:
    if oid in trees:
        return trees[oid]
    return read_tree(objects, oid)


def _report_complaints(
    code: str, where: str, complaints: schema.Complaints, old: bool
) -> Iterator[Finding]:
    """One finding for the errors, and one for the accepted variations."""
    for accepted in (False, True):
        words = [what for what, variation in complaints if variation is accepted]
        if words:
            yield make_finding(code, where, "; ".join(words), is_note=accepted or old)


def _check_paths(
    cid: str, root: dict[str, Any], folders: dict[str, Tree], old: bool
) -> Iterator[Finding]:
    entries = root.get("sessions")
    if isinstance(entries, list):
        listed = [e for e in entries if isinstance(e, dict)]
    else:
        listed = []
    top = f"/{cid[:2]}/{cid[2:]}/"
    for number, entry in enumerate(listed):
        for key in _KEYS:
            path = entry.get(key)
            if not isinstance(path, str) or not path:
                continue
            folder, _, name = path.removeprefix(top).removeprefix("/").partition("/")
            if not path.startswith((top, f"/{folder}/")) or folder not in folders:
                yield make_finding("bad-path", cid, f"sessions[{number}] names '{path}'", old)
                break
            if name not in folders[folder]:
                # The original program lists a transcript and a hash even if it wrote none.
                gone = f"sessions[{number}] names '{path}', which does not exist"
                yield make_finding("bad-path", cid, gone, old or key != "metadata")
    if len(listed) != len(folders):
        is_are = "is" if len(folders) == 1 else "are"
        counts = (
            f"it lists {count_noun(len(listed), 'session')}, and {len(folders)} {is_are} stored"
        )
        yield make_finding("bad-path", cid, counts, old)
    gaps = [name for n, name in enumerate(folders) if name != str(n)]
    if gaps:
        yield make_finding("bad-number", cid, f"its directories are {' '.join(folders)}", old)


def _read_json(objects: Objects, entries: Tree) -> dict[str, Any] | None:
    entry = entries.get(format.METADATA)
    if entry:
        return format.parse_json(objects.need(entry[1], "blob"), parse_json)
    return None


class Hashes:
    """Computes SHA-256 of transcripts, which are stored in pieces.

    Of a session's last transcript it keeps the digest before the last piece.  One that begins with
    the same pieces continues from there, so that most pieces of a growing session are read once.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[list[str], Any]] = {}

    def compute_digest(self, objects: Objects, session_id: str, oids: list[str]) -> str:
        """'sha256:' and the hex digits of the pieces joined with newlines."""
        known, digest = self._last.get(session_id, ([], None))
        if digest is None or oids[: len(known)] != known or len(oids) == len(known):
            known = []
            digest = hashlib.sha256()
        digest = digest.copy()
        for number in range(len(known), len(oids)):
            data = objects.need(oids[number], "blob")
            if number == len(oids) - 1:
                self._last[session_id] = (oids[:number], digest.copy())
            digest.update(b"\n" * (number > 0) + data)
        return "sha256:" + str(digest.hexdigest())


def _check_transcript(
    objects: Objects, hashes: Hashes, where: str, metadata: Metadata, files: Tree, old: bool
) -> Iterator[Finding]:
    """Check the pieces and the hash of one session directory; old: hashes may be missing."""
    pieces = {
        n: oid
        for name, (_, oid) in files.items()
        if (n := transcripts.parse_number(name)) is not None
    }
    yield from _check_names(where, files, sorted(pieces))
    stored = _read_hash(objects, files)
    if not pieces:
        if stored:
            yield make_finding("bad-hash", where, "it has a hash, and no transcript", old)
        return
    if not stored:
        # The original program writes none under auto-commit.
        accepted = old or metadata.get("strategy") == "auto-commit"
        yield make_finding("bad-hash", where, "there is no content_hash.txt", accepted)
        return
    oids = [oid for _, oid in sorted(pieces.items())]
    if stored.startswith(CHUNKS):
        actual = hash_chunks(oids)
    else:
        session_id = str(metadata.get("session_id", where))
        actual = hashes.compute_digest(objects, session_id, oids)
    if stored != actual:
        why = f"content_hash.txt is '{stored[:80]}', not '{actual}'"
        yield make_finding("bad-hash", where, why, old)


def _check_names(where: str, files: Tree, numbers: list[int]) -> Iterator[Finding]:
    if numbers and numbers != list(range(len(numbers))):
        gone = next(n for n in range(numbers[-1]) if n not in numbers)
        yield make_finding("bad-chunk", where, f"'{transcripts.format_name(gone)}' is missing")
    if numbers and numbers[-1] > _LAST:
        why = f"'{transcripts.format_name(numbers[-1])}' sorts before others"
        yield make_finding("bad-chunk", where, why)
    for name in files:
        digits = name.removeprefix(transcripts.NAME + ".")
        if digits != name and digits[:1].isdecimal() and len(digits) < 3:
            yield make_finding("bad-chunk", where, f"'{name}' has less than three digits")
    if transcripts.NAME in files and transcripts.LEGACY in files:
        yield make_finding("bad-chunk", where, "there are two first pieces")


def _read_hash(objects: Objects, files: Tree) -> str:
    entry = files.get(format.HASH)
    if entry:
        return objects.need(entry[1], "blob").decode(errors="replace").strip()
    return ""


# Checks of the objects behind gitcp's refs: none is missing, and none holds a secret.
_SHARED = ("/entire/checkpoints/v1", "/entire/sessions", notes.REF)
# Refs that lack objects are checked in this order: objects written for a stream may mend others.
_ORDER = ("broken-stream", "broken-edits", "broken-store", "")
# Files with the text of a conversation, in a session's directory on v1 and on a stream.
_TRANSCRIPTS = re.compile(
    r"(?:[0-9a-f]{2}/[0-9a-f]{10}/|\.entire/metadata/[^/]+/)"
    r"(?:.*/)?(?:full\.(?:jsonl|log)[.\d]*|prompt\.txt|context\.md|summary\.txt|agent-.*\.jsonl)"
)


def look_at_packs(case: Case) -> Iterator[Finding]:
    """Check that git can open gitcp's packs.  It ignores one without an index, as a kill leaves."""
    folder = packs.locate_folder(case.repo)
    for path in (os.path.join(folder, name) for name in packs.list_packs(case.repo)):
        fault = repair.find_fault(case.repo, path)
        if fault:
            kind = "unindexed-pack"
            if os.path.exists(f"{path}.idx"):
                kind = "bad-pack"
            yield make_finding(kind, path, fault)


def look_at_loose(case: Case) -> Iterator[Finding]:
    """Find the empty object files that a power cut leaves: git takes none of them for missing."""
    for path in repair.list_empty_objects(case.repo):
        yield make_finding("empty-object", path, "git cannot read it, nor write the object again")


def look_at_objects(case: Case) -> Iterator[Finding]:
    """Check the refs, then the objects behind them and behind those of remotes.

    Refs that lack objects are reported first, so that the caller may repair each at once.
    """
    survey = case.survey
    extra = [ref for ref in case.sources if ref not in {*survey.refs, CHECKPOINTS}]
    names = list(survey.refs)
    missing = _list_missing_objects(survey, [*names, *extra])
    if missing is None or missing or survey.list_broken_refs():
        lame = {}
        for ref in sorted(names, key=lambda ref: _ORDER.index(_choose_code(ref))):
            code = _choose_code(ref)
            if code and (gone := list_lacking(case.repo, ref)):
                lame[ref] = code
                yield make_finding(code, ref, f"lacks {count_noun(len(gone), 'object')}")
        survey.repo.objects.ahead.forget()
        survey = case.renew_survey()
        names = [ref for ref in survey.refs if ref not in lame]
        missing = _list_missing_objects(survey, [*names, *extra])
    yield from _check_refs(survey, names)
    if missing is None:
        yield make_finding("missing-object", "history", "a commit of gitcp's history is missing")
        return
    for oid in missing:
        yield make_finding("missing-object", oid, "a ref of gitcp needs it", oid=oid)
    if case.secrets:
        yield from _find_secrets(survey, [*names, *extra])


def _choose_code(ref: str) -> str:
    """The code of the finding on a ref that lacks objects, '' if it cannot be mended."""
    if ref == refs.REF or parse_checkpoint_ref(ref):
        return "broken-store"
    if ref.startswith(ids.EDITS):
        return "broken-edits"
    return "broken-stream" if is_stream(ref) else ""


def _check_refs(survey: Survey, refs_here: Sequence[str]) -> Iterator[Finding]:
    for ref in refs_here:
        oid = survey.refs[ref]
        answer = survey.repo.objects.read(oid)
        if answer is None:
            yield make_finding("bad-ref", ref, f"its commit '{oid}' is missing", oid=oid)
        elif answer[1] != "commit":
            yield make_finding("bad-ref", ref, f"it is at a {answer[1]}", oid=oid)


def _list_missing_objects(survey: Survey, refs_here: Sequence[str]) -> list[str] | None:
    """The missing objects that the refs need; None if a commit inside a history is missing."""
    present = _list_present(survey, refs_here)
    if not present:
        return []
    try:
        _, out = survey.repo.git.run(*WALK, "--stdin", stdin=encode_lines(present))
    except GitError:
        return None
    missing = [line.removeprefix("?") for line in decode_lines(out)]
    lost = cat_file.list_unpromised(survey.repo, present, set(missing))
    return [oid for oid in missing if oid in lost]


def _list_present(survey: Survey, refs_here: Sequence[str]) -> list[str]:
    """The refs whose object exists."""
    gone = set(survey.list_broken_refs())
    return [name for name in refs_here if name not in gone]


def look_at_withheld(case: Case) -> Iterator[Finding]:
    """Report what the last pushes held back."""
    for held in remote.list_held(case.repo):
        reason = remote.describe(held)
        remedy = remote.describe_remedy(held)
        yield make_finding("withheld", held[0], f"not pushed: {reason}", remedy=remedy)


def _find_secrets(survey: Survey, refs_here: Sequence[str]) -> Iterator[Finding]:
    """The secrets in the store, as a push finds them, and in the conversations of streams."""
    repo = survey.repo
    here = _list_present(survey, refs_here)
    if not redactor.can_read_rules(repo):
        return
    stored = [ref for ref in here if ref.endswith(_SHARED) or parse_checkpoint_ref(ref)]
    streams = [ref for ref in here if ref not in stored]
    term.show_line("searching for secrets")
    hits = {item[0]: item for item in remote.find_secrets(repo, stored, ())}
    secrets = {oid: rule for oid, (_, _, rule) in hits.items()}
    if hits:
        for ref in stored:
            for held in remote.name_held(repo.objects, ref, ref, secrets):
                if hits.pop(held[3], None):
                    reason = f"{remote.describe(held)}; {remote.describe_remedy(held)}"
                    yield make_finding("secret", held[0], reason, oid=held[3])
    rest = remote.find_secrets(repo, streams, (), selects=_TRANSCRIPTS.fullmatch)
    for oid, path, rule in (*hits.values(), *rest):
        yield make_finding("secret", path, f"{rule} in blob '{oid}'; {remote.ALLOW}", oid=oid)


# Checks of links: the checkpoints that commits and notes name are stored and belong to them.
_LINK_WINDOW = 500  # links that are checked together
_ALONE_LINKS = 2  # windows before worker processes are started
_FEW = 64  # changed files up to which a commit's contents are read ahead, not one by one


def look_at_linked(case: Case) -> Iterator[Finding]:
    """Check the trailers of the commits on all branches, then every note."""
    survey = case.survey
    sources = [ref for ref in checkpoints.list_places(case.repo) if "entire" in ref]
    with console.Collected():  # another check reports a tree that cannot be read
        stored = listing.read_trees(case.repo, sources)
    try:
        commits = list_bare_commits(survey.repo, (), listing.CARRYING)
    except Error as e:
        yield make_finding("missing-object", "history", str(e))
        return
    trailers: list[Link] = []
    others: list[tuple[str, str, bool]] = []
    for commit in commits:
        for link in commit["checkpoints"]:
            name = link["checkpoint_id"]
            if link["linked"] == "trailer":
                trailers.append((commit["oid"], name))
            elif link["linked"] != "note" and name in stored:
                others.append((commit["oid"], name, link["linked"] == "text"))
    yield from _find_empty(survey, trailers, stored)
    for oid, name in _list_mentions(survey.repo, others):
        reason = f"its message mentions '{name}', which it is not linked to"
        yield make_finding("mention", oid, reason, checkpoint_id=name)
    states = [state for state in survey.states if not state.get("unreadable")]
    missing = unhooked.list_missing(survey.repo, states)
    left_out = [link for link in missing if link[1] != unhooked.NEW]
    yield from _find_lost(trailers, stored, {(oid, name) for oid, name, _ in left_out})
    for oid, name, session in left_out:
        if name in stored:
            reason = f"'{name}' lacks session '{session}', whose work the commit has"
            yield make_finding("left-out", oid, reason, checkpoint_id=name)
    yield from _check_notes(survey, stored, trailers)


def _find_lost(
    trailers: Sequence[Link], stored: Mapping[str, str], held_here: Collection[Link]
) -> Iterator[Finding]:
    """Report links whose checkpoint is not stored.

    If no checkpoint is stored at all, one finding stands for all of them but those of held_here,
    which a session here can still store.
    """
    lost = [link for link in trailers if link[1] not in stored]
    if stored:
        unfetched = []
    else:
        unfetched = [link for link in lost if link not in held_here]
    if unfetched:
        verb = "name checkpoints"
        if len(unfetched) == 1:
            verb = "names a checkpoint"
        reason = f"{count_noun(len(unfetched), 'commit')} {verb}, and none is stored here"
        yield make_finding("no-store", V1, reason)
    for oid, name in lost:
        if (oid, name) not in unfetched:
            reason = f"it refers to checkpoint '{name}', which is not stored"
            yield make_finding("dangling-trailer", oid, reason, checkpoint_id=name)


def _list_mentions(repo: Repo, others: list[tuple[str, str, bool]]) -> Iterator[Link]:
    """Yield the ids in messages that link nothing.  others: (commit, id of a stored checkpoint,
    whether the id stands as a forge leaves it), of ids that are neither trailers nor in a note."""
    places = checkpoints.Places(repo)
    for oid, name, may_link in others:
        if not (may_link and recorded_edits.is_meant(repo.objects, places, oid, name)):
            yield oid, name


def _find_empty(
    survey: Survey, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> Iterator[Finding]:
    """Report links (commit, id) whose commit has nothing of the checkpoint, by evidence."""

    def begin(objects: Objects) -> Callable[[list[tuple[str, str]]], list[tuple[str, str]]]:
        return lambda window: _list_empty(survey.repo, window, stored)

    checked = (link for link in links if link[1] in stored)
    for empty in spread_batches(
        survey.repo.objects, split_windows(checked, _LINK_WINDOW), begin, _ALONE_LINKS
    ):
        for oid, name in empty:
            reason = f"has nothing of '{name}', which it is linked to"
            yield make_finding("empty-link", oid, reason, checkpoint_id=name)


def _list_empty(
    repo: Repo, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> list[tuple[str, str]]:
    empty = []
    repo.objects.ahead.fetch(oid for oid, _ in links)
    commits = [commit for oid, _ in links if (commit := read_commit(repo.objects, oid))]
    with console.Collected():  # other checks report what cannot be read
        changed = object_lists.read_many_changes(repo, commits)
        loader = listing.Loader(repo.objects, skip_summary=True)
        loader.prepare(stored[name] for _, name in links)
        loaded = [(oid, loader.load(name, "", stored[name])) for oid, name in links]
        unclear = [
            (oid, checkpoint)
            for oid, checkpoint in loaded
            if oid in changed
            and not checkpoint["lacks"]
            and not recorded_edits.has_same_change(checkpoint, changed[oid])
        ]
        loader.prepare((checkpoint["tree"] for _, checkpoint in unclear), format.LINES)
        small = (files.values() for oid, _ in unclear if len(files := changed[oid]) <= _FEW)
        repo.objects.ahead.fetch_small(oid for files in small for *_, oid in files if oid)
        for oid, checkpoint in unclear:
            if recorded_edits.has_content(repo.objects, checkpoint, changed[oid]):
                continue
            if not _was_overwritten(repo, oid, checkpoint):
                empty.append((oid, checkpoint["checkpoint_id"]))
    repo.objects.ahead.forget()
    return empty


def _was_overwritten(repo: Repo, oid: str, checkpoint: StoredCheckpoint) -> bool:
    """Whether another checkpoint of a commit, such as a squash, was made on what this one made."""
    for name in listing.list_linked(repo.objects, oid):
        if name == checkpoint["checkpoint_id"] or find_checkpoint(repo, name) is None:
            continue
        if recorded_edits.was_continued(checkpoint, read_checkpoint(repo, name)):
            return True
    return False


def _check_notes(
    survey: Survey, stored: Mapping[str, str], trailers: list[tuple[str, str]]
) -> Iterator[Finding]:
    """Check every note.  trailers: (commit, id) of each trailer on a branch."""
    if notes.REF not in survey.refs:
        return
    try:
        noted = [
            (oid, name) for oid, names in notes.list_links(survey.repo.objects) for name in names
        ]
    except Error as e:
        yield make_finding("missing-object", notes.REF, str(e))
        return
    survey.repo.objects.ahead.fetch(dict.fromkeys(oid for oid, _ in noted))
    carriers: dict[str, list[str]] = {}
    for oid, name in trailers:
        carriers.setdefault(name, []).append(oid)
    wrong = set()
    for oid, name in noted:
        if name not in stored:
            reason = f"its note refers to checkpoint '{name}', which is not stored"
            yield make_finding("dangling-note", oid, reason, checkpoint_id=name)
        elif carrier := _find_carrier(survey, oid, name, carriers.get(name, ())):
            wrong.add((oid, name))
            reason = f"its note links it to '{name}', whose work is in {abbreviate(carrier)} alone"
            yield make_finding("wrong-note", oid, reason, checkpoint_id=name)
    survey.repo.objects.ahead.forget()
    yield from _find_empty(survey, [link for link in noted if link not in wrong], stored)


def _find_carrier(survey: Survey, oid: str, name: str, carriers: Sequence[str]) -> str:
    """The commit whose work a note claims wrongly for another one; '' if the note may be right, as
    one by a person always is.

    oid, name: the noted commit, and the checkpoint in its note.  carriers: the commits whose
    trailers name that checkpoint.  One of these is returned if the noted commit has too little of
    the work for a search to link it, and either commit is based on the other, or they have
    different authors and the noted commit has no other link: git may link a commit to work of which
    nothing is left.
    """
    commit = None
    if carriers and oid not in carriers:
        commit = read_commit(survey.repo.objects, oid)
    if commit is None or name in links.list_by_hand(
        notes.read_note(survey.repo.objects, oid) or b""
    ):
        return ""
    # A merge has the work only if its change from each parent matches.
    sides = objects.compare_with_parents(survey.repo.objects, commit)
    parents = commit["parents"] or [""]
    changes = [
        match.build_change(survey.repo.objects, parent, side)
        for parent, side in zip(parents, sides, strict=True)
    ]
    is_alone = listing.list_linked(survey.repo.objects, oid) == [name]
    for other in carriers:
        carrier = read_commit(survey.repo.objects, other)
        relation = ""
        if carrier:
            relation = candidates.relate(carrier, commit, is_named=True)
        is_foreign = is_alone and relation == holding.OTHER
        if not carrier or not (
            is_foreign
            or is_ancestor(survey.repo, oid, other)
            or is_ancestor(survey.repo, other, oid)
        ):
            continue
        # The work as this carrier has it, and as the checkpoint has it: that of its first commit,
        # of which other commits may have a part each.
        works = [
            work
            for source in (carrier, None)
            if (work := candidates.read_work(survey.repo, name, source)).edits
        ]
        if works and not any(all(w.find_enough(c, relation) for c in changes) for w in works):
            return other
    return ""


def look_at_refs(case: Case) -> Iterator[Finding]:
    """Check that git can read gitcp's refs, and look for locks left behind."""
    survey = case.survey
    common = case.repo.common
    for start in OURS:
        logs = os.path.join(common, "logs")
        for path in _list_files(os.path.join(logs, start)):
            ref = os.path.relpath(path, logs)
            place = os.path.join(common, ref)
            if ref not in survey.refs and (os.path.isdir(place) or not os.path.lexists(place)):
                yield make_finding("bad-ref", ref, "the ref is gone, but its reflog is still there")
                survey = case.renew_survey()
        for path in _list_files(os.path.join(common, start)):
            ref = os.path.relpath(path, common)
            if not path.endswith(".lock"):
                if ref not in survey.refs:
                    yield make_finding("bad-ref", ref, "git cannot read it")
                    survey = case.renew_survey()  # the caller may have repaired it
            elif files.is_older(path, LOCK_AGE):
                yield make_finding("lock", path, "it was not released for a minute")


def look_at_deleted_store(case: Case) -> Iterator[Finding]:
    """Report that the branch of checkpoints was deleted, and how to get it back."""
    reason = checkpoints.explain_deletion(case.repo)
    if reason:
        what, _, remedy = reason.partition(": ")
        yield make_finding("deleted-store", refs.REF, what, remedy=remedy)


def _list_files(path: str) -> Iterator[str]:
    """Yield the path above path, path and its lock, as far as they exist and are no directories;
    then every file below path."""
    places = (os.path.dirname(path), path, f"{path}.lock")
    yield from (p for p in places if os.path.lexists(p) and not os.path.isdir(p))
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in sorted(names))


def look_at_scratch(case: Case) -> Iterator[Finding]:
    """Report scratch files that a killed process left behind."""
    for path, reason in _list_scratch_files(case.repo):
        yield make_finding("leftover", path, reason)


def list_leftovers(repo: Repo) -> Iterator[tuple[str, str]]:
    """(path, why) of the scratch files and directories that no process is writing."""
    yield from _list_scratch_files(repo)
    if repo.top:
        yield from unfinished.list_scratch(repo)


def _list_scratch_files(repo: Repo) -> Iterator[tuple[str, str]]:
    folder = locate_scratch(repo)
    for name in files.list_names(folder):
        path = os.path.join(folder, name)
        if files.is_older(path, SCRATCH_AGE):
            yield path, "nothing has touched it for an hour"


def look_at_scratch_worktrees(case: Case) -> Iterator[Finding]:
    """Report the temporary worktrees that killed commands left."""
    if case.repo.top:
        for path, reason in unfinished.list_scratch(case.repo):
            yield make_finding("leftover", path, f"{reason}, and its temporary worktree is left")


def remove_leftover(repo: Repo, path: str) -> str:
    """Remove a path of list_leftovers() if it is still one; return what was done, '' for
    nothing."""
    if unfinished.remove_scratch(repo, path):
        return "removed the directory"
    return repair.remove_leftover(repo, path, SCRATCH_AGE)
