"""Sharing checkpoints: push and fetch with a union merge, never by force
(doc/behaviour.md "Sharing")."""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from typing import NamedTuple

from gitcp import git
from gitcp.checkpoints import conversion, listing, merging, notes, stored, writing
from gitcp.checkpoints.format import exports
from gitcp.checkpoints.listing import ALL
from gitcp.checkpoints.share import places, summaries
from gitcp.checkpoints.share import remote as share_remote
from gitcp.checkpoints.share.remote import Remote
from gitcp.errors import Error, Moved
from gitcp.git import files, hook_warnings, refs
from gitcp.git.files import exclusive
from gitcp.git.objects import (
    Objects,
    compare_trees,
    edit_tree,
    need_commit,
    read_commit,
    write_commit,
)
from gitcp.git.objects.object_lists import is_ancestor, list_commits
from gitcp.git.places import build_file_name, clean_url
from gitcp.git.records import decode_lines, encode_lines
from gitcp.text import console, shapes
from gitcp.text.ids import CHECKPOINTS, build_checkpoint_ref, parse_checkpoint_ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping

    from gitcp.checkpoints.listing import Tips
    from gitcp.checkpoints.merging import Join
    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.checkpoints.share.remote import Held
    from gitcp.git.repo import Repo

# What `git push` sends besides: the store, only to places that were agreed to, in bounded time.
#
# Seconds for a remote that has failed: to search for secrets, and to push.
_BRIEF_SEARCH = 0.3
_BRIEF = 1.2
_DAY = 86400  # seconds
_MOST = 50  # messages that were shown once


def explain_unsent(repo: Repo, remote: str, place: str) -> str:
    """A message before a push of a remote or a URL to a place that was not agreed to, once for each
    place: why no checkpoint is sent there; "" for none."""
    configured = places.read_destination(repo)
    if configured == places.NONE:
        return ""
    if configured and not places.is_url(configured) and say_once(repo, f"missing {configured}"):
        advice = f"'gitcp push --to {places.find_usual_remote(repo) or '<remote>'}' names another"
        why = f"gitcp.remote names '{configured}', which is not a remote"
        return f"gitcp: {why}: no checkpoints are sent; {advice}"
    if configured or not stored.has_checkpoints(repo) or not say_once(repo, f"place {place}"):
        return ""
    advice = f"'gitcp push --to {clean_url(remote)}' sends them there from now on"
    return f"gitcp: no checkpoints are sent to '{place}': {advice}"


def send_store(repo: Repo, place: SharedPlace, timeout: float, leave: Container[str]) -> None:
    """Send the store to a place that was agreed to; refs in leave are git's to push.

    timeout: seconds.  A place that has failed within a day is tried briefly, and without a word.
    Raises Error for the first failure, and always for what is held back.
    """
    failed = has_failed(repo, place)
    search = limit = timeout
    if failed:
        search = min(timeout, _BRIEF_SEARCH)
        limit = min(timeout, _BRIEF)
    try:
        with Objects(repo):
            pushed = push_store(repo, place, limit, search=search, again=False, leave=leave)
    except Error as e:
        note_failure(repo, place)
        git.append_trace("push", str(e))
        if not failed:
            later = "later pushes wait less for it, and say nothing"
            raise Error(f"{e}; {later}: 'gitcp push' tries again") from None
        return
    note_success(repo, place)
    if pushed.held:
        raise Error(share_remote.explain(pushed.held))


def say_once(repo: Repo, what: str) -> bool:
    """Whether something is to be said: only the first time, until forget_words()."""
    path = _locate_said(repo)
    word = "%20".join(what.split())
    earlier = files.read_words(path, shapes.is_printable)
    if word not in earlier:
        files.write_words(repo, path, [*earlier[-_MOST:], word])
    return word not in earlier


def _locate_said(repo: Repo) -> str:
    return repo.join_shared("pushed", "said")


def forget_words(repo: Repo) -> None:
    """Show all messages again: other places are agreed to."""
    files.remove_private(repo, _locate_said(repo))


def has_failed(repo: Repo, place: SharedPlace) -> bool:
    """Whether a push there failed less than a day ago, and none succeeded since."""
    path = _locate_failure(repo, place)
    return os.path.isfile(path) and not files.is_older(path, _DAY)


def note_failure(repo: Repo, place: SharedPlace) -> None:
    """Note that a push failed, unless one of the last day is noted."""
    if not has_failed(repo, place):
        files.write_private(repo, _locate_failure(repo, place), b"")


def note_success(repo: Repo, place: SharedPlace) -> None:
    """Forget a failure, and the hook's warnings of it."""
    path = _locate_failure(repo, place)
    if os.path.isfile(path):
        files.remove_private(repo, path)
        hook_warnings.drop_warnings(repo, "pre-push")


def _locate_failure(repo: Repo, place: SharedPlace) -> str:
    return repo.join_shared("pushed", f"{build_file_name(place.url)}.failed")


_CHUNK = 200  # refs of one push
_IDLE = 4  # fetches in a row that bring nothing new of a ref that is said to have moved
_ABSENT = "rev-list --objects --no-object-names --missing=print --no-walk --stdin"
_SUBJECT = "Notes shared by gitcp"


class Pushed(NamedTuple):
    """What came of a push of the store."""

    before: Tips  # of the place, as far as was known
    tips: Tips  # of the place now
    merges: int  # with what others pushed meanwhile
    held: list[Held]  # what was held back


def push_store(
    repo: Repo,
    place: SharedPlace,
    timeout: float,
    *,
    search: float | None = None,
    again: bool = True,
    leave: Container[str] = (),
) -> Pushed:
    """Push the store to a place.

    If another push was faster, its refs are fetched and united with ours, and the push is tried
    again until timeout (seconds).  search: seconds that a hook may search for secrets, by default
    timeout.  again: ask the remote even if it is known to have all.  leave: refs not to push.
    Raises Error that names the remote if it refuses, or the time is up.
    """
    remote: Remote | None = None
    merges = 0
    idle = 0
    first = known = listing.read_pushed(repo, place.url)
    while True:
        outgoing = choose_outgoing(repo, known, leave)
        if not again and outgoing.items() <= known.items():
            _note_pushed(repo, place, known)
            return Pushed(first, outgoing, merges, [])
        secrets = share_remote.search_new(repo, outgoing, known, search or timeout)
        if remote is None:
            remote = Remote(repo, place, timeout)
            if again or refs.REF in outgoing.keys() - known.keys():
                first = _ask(repo, remote)
                outgoing = choose_outgoing(repo, first, leave)
            known = {**first}  # to which what is pushed is added
        tips = _leave_out(repo, outgoing, known, secrets)
        moved = _push_chunks(repo, remote, tips, known)
        if not moved:
            _note_pushed(repo, place, known)
            return Pushed(first, tips, merges, _name_held(repo.objects, outgoing, tips, secrets))
        earlier = known
        known = known | _fetch_moved(repo, remote, merges)
        merges += 1
        idle = _check_progress(repo, remote, moved, earlier, known, idle)


def _ask(repo: Repo, remote: Remote) -> Tips:
    """The tips that the remote has; what it may have forgotten of ours is fetched."""
    known = remote.list_refs(*_list_shared(repo))
    _fetch_parts(repo, remote, known)
    return known


def _leave_out(repo: Repo, tips: Tips, theirs: Tips, secrets: Mapping[str, str]) -> Tips:
    """The tips to push, without what has secrets.  theirs: the tips that the remote has."""
    selected: Tips = {}
    for ref, oid in tips.items():
        tip = oid
        if theirs.get(ref) != oid:
            tip = share_remote.select_tip(repo, ref, oid, theirs.get(ref, ""), secrets)
        if tip:
            selected[ref] = tip
    return selected


def _name_held(
    objects: Objects, outgoing: Tips, tips: Tips, secrets: Mapping[str, str]
) -> list[Held]:
    """What the tips that were pushed lack of the outgoing ones."""
    held: list[Held] = []
    for ref, oid in outgoing.items():
        if tips.get(ref) != oid:
            held += share_remote.name_held(objects, ref, oid, secrets)
    return held


def _fetch_parts(repo: Repo, remote: Remote, theirs: Tips) -> None:
    """If the remote lacks our branch, fetch its refs of checkpoints that are also on the branch:
    they may have forgotten what the branch would bring there."""
    branch = stored.Places(repo)
    parts: Tips = {}
    if refs.REF not in theirs:
        for ref, oid in theirs.items():
            checkpoint_id = parse_checkpoint_ref(ref)
            if checkpoint_id and branch.find_tree(refs.REF, checkpoint_id, []):
                parts[ref] = oid
    _fetch_and_unite(repo, remote, parts)


def _check_progress(
    repo: Repo, remote: Remote, moved: Tips, earlier: Tips, theirs: Tips, idle: int
) -> int:
    """Raise Error if the remote still has a history that was forgotten here, or shows nothing new
    of the refs that have moved (ref -> reason); return for how many fetches.

    earlier, theirs: its tips before this fetch and after it; idle: what the last call returned.
    """
    if any(earlier.get(ref) != theirs.get(ref) for ref in moved):
        idle = 0
    else:
        idle += 1
    if idle > _IDLE:
        [(ref, why), *_] = moved.items()
        raise Error(f"'{remote.label}' refuses '{ref}' each time: {why}")
    for ref in moved:
        our_tip = refs.read_ref(repo, ref)
        their_tip = theirs.get(ref)
        if _is_notes(ref) or not our_tip or not their_tip:
            continue
        if not is_ancestor(repo, their_tip, our_tip):
            remedy = "'gitcp forget --remote' takes it out there"
            raise Error(f"'{remote.label}' still has what was forgotten here: {remedy}")
    return idle


class Replaced(NamedTuple):
    """What came of forgetting at a place."""

    histories: int  # how many ours have replaced
    moved: list[str]  # refs that have moved there, and were left


def forget_there(repo: Repo, place: SharedPlace, timeout: float) -> Replaced:
    """Replace by ours a place's histories with what was forgotten here.

    One ref is replaced at a time, unless it has moved since the last push or fetch.
    """
    remote = Remote(repo, place, timeout)
    shared = (refs.REF, summaries.REF, CHECKPOINTS)
    ours = refs.list_refs(repo, *shared)
    known = listing.read_pushed(repo, place.url)
    count = 0
    moved: list[str] = []
    for ref, their_tip in _select_shared(remote.list_refs(*shared), shared).items():
        tip = ours.get(ref)
        if tip is None or tip == their_tip or is_ancestor(repo, their_tip, tip):
            continue
        if known.get(ref) != their_tip or remote.push_refs({ref: tip}, lease=their_tip):
            moved.append(ref)
            continue
        count += 1
        known[ref] = tip
        listing.set_pushed(repo, place.url, known)
    return Replaced(count, moved)


def _fetch_moved(repo: Repo, remote: Remote, merges: int) -> Tips:
    """_fetch_all() after another push was faster; from the second time on it waits for a random
    time first.  Raises Error at the deadline."""
    if merges:
        pause = random.uniform(0, 0.05 * 2 ** min(merges, 5))
        time.sleep(min(remote.count_seconds_left(), pause))
    if not remote.count_seconds_left():
        raise Error(f"'{remote.label}' is too busy: others pushed {merges} times meanwhile")
    return _fetch_all(repo, remote)


def _push_chunks(repo: Repo, remote: Remote, tips: Tips, remote_tips: Tips) -> dict[str, str]:
    """Push the tips that remote_tips lack, and add them there; return ref -> reason of the refs
    that another push has moved meanwhile.  The remote's tips are written down after each chunk: an
    interrupted push continues there."""
    unsent = [ref for ref, oid in tips.items() if remote_tips.get(ref) != oid]
    moved: dict[str, str] = {}
    for start in range(0, len(unsent), _CHUNK):
        chunk = {ref: tips[ref] for ref in unsent[start : start + _CHUNK]}
        lost = remote.push_refs(chunk)
        moved |= lost
        remote_tips |= {ref: oid for ref, oid in chunk.items() if ref not in lost}
        listing.set_pushed(repo, remote.url, remote_tips)
    return moved


def fetch_store(
    repo: Repo,
    place: SharedPlace,
    timeout: float,
    ids: Collection[str] = (),
    *,
    to_forget: bool = False,
) -> Tips:
    """Fetch the checkpoints and notes of a place and unite them with ours; return our tips.

    ids: fetch only these checkpoints if each has a ref of its own there.  to_forget: fetch also
    what is shared only with gitcp.share-abandoned, and keep our branch beside jj until the caller
    calls conversion.leave_branch().  Raises Error that names the remote if it cannot be reached in
    timeout seconds.
    """
    remote = Remote(repo, place, timeout)
    own_refs = {build_checkpoint_ref(checkpoint_id) for checkpoint_id in ids}
    theirs: Tips = {}
    if own_refs:
        theirs = remote.list_refs(*own_refs)
    if own_refs and own_refs == theirs.keys():
        _fetch_and_unite(repo, remote, theirs)
    else:
        _fetch_all(repo, remote, to_forget)
    return list_local(repo)


class Brought(NamedTuple):
    """What came of asking for missing objects: how many came, and how many the remote lacks."""

    came: int
    left: int


def fetch_absent(repo: Repo, place: SharedPlace, timeout: float) -> Brought:
    """Fetch what the present checkpoints lack of their files.  Raises Error if the remote does not
    answer in timeout seconds."""
    remote = Remote(repo, place, timeout)
    came = 0
    asked: set[str] = set()
    while True:
        fresh = [oid for oid in _list_absent(repo) if oid not in asked]
        if not fresh:
            break
        remote.list_refs("HEAD")  # which raises if it cannot be reached
        asked.update(fresh)
        came += len(fresh) - len(remote.fetch_objects(fresh))
    return Brought(came, len(_list_absent(repo)))


def _list_absent(repo: Repo) -> list[str]:
    """The missing objects of the present checkpoints, except what a missing tree would name."""
    holding = _select_shared(list_local(repo), [refs.REF])
    if not holding:
        return []
    _, out = repo.git.run(*_ABSENT.split(), stdin=encode_lines(holding))
    return [line[1:] for line in decode_lines(out) if line.startswith("?")]


def list_there(repo: Repo, place: SharedPlace, timeout: float) -> Tips:
    """A place's tips of the shared refs; nothing is fetched.  Raises as fetch_store()."""
    return _list_remote(repo, Remote(repo, place, timeout))


def list_local(repo: Repo) -> Tips:
    """Our tips of the shared refs."""
    return _select_shared(refs.list_refs(repo, *_list_shared(repo)), _list_shared(repo))


def choose_outgoing(repo: Repo, theirs: Tips, leave: Container[str] = ()) -> Tips:
    """Our tips as they are pushed to a remote that has theirs, without the refs in leave."""
    tips = {ref: oid for ref, oid in list_local(repo).items() if ref not in leave}
    for ref, oid in tips.items():
        if _is_notes(ref) and theirs.get(ref) != oid:
            tips[ref] = select_notes(repo, oid, theirs.get(ref, ""), _JOINS[ref])
    return tips


def _list_shared(repo: Repo) -> list[str]:
    """The shared refs; the last one is a prefix."""
    shared: list[str] = []
    if stored.is_branch_sent(repo):
        shared.append(refs.REF)
    shared.append(notes.REF)
    if repo.config.get_option("gitcp.ai-notes"):
        shared.append(notes.AI)
    if repo.config.get_option("gitcp.share-abandoned"):
        shared.append(summaries.REF)
    return [*shared, CHECKPOINTS]


def _select_shared(tips: Tips, ref_names: Collection[str]) -> Tips:
    """The tips of ref_names and of refs of single checkpoints."""
    return {r: oid for r, oid in tips.items() if r in ref_names or parse_checkpoint_ref(r)}


_JOINS: dict[str, Join] = {
    notes.AI: exports.merge_notes,
    notes.REF: merging.unite_lines,
    summaries.REF: summaries.join,
}


def _choose_join(ref: str) -> Join | None:
    """The function that joins two files of a ref's tree; None for refs of checkpoints."""
    return _JOINS.get(ref)


def _is_notes(ref: str) -> bool:
    """Whether a ref has notes on commits, which are never forgotten."""
    return ref in (notes.AI, notes.REF)


def _fetch_all(repo: Repo, remote: Remote, to_forget: bool = False) -> Tips:
    """Fetch the remote's tips and unite them with ours; return them."""
    tips = _list_remote(repo, remote, to_forget)
    _fetch_and_unite(repo, remote, tips)
    listing.set_pushed(repo, remote.url, tips)
    if not to_forget:
        conversion.leave_branch(repo)
    return tips


def _list_remote(repo: Repo, remote: Remote, to_forget: bool = False) -> Tips:
    ref_names = [*_list_shared(repo), refs.REF]
    if to_forget:
        ref_names.append(summaries.REF)
    return _select_shared(remote.list_refs(*dict.fromkeys(ref_names)), ref_names)


def _fetch_and_unite(repo: Repo, remote: Remote, theirs: Tips) -> None:
    """Fetch the remote's refs that differ from ours into temporary refs, and unite them."""
    if len(theirs) <= _CHUNK:
        ours = refs.list_refs(repo, *theirs)
    else:
        ours = refs.list_refs(repo)
    prefix = f"refs/gitcp/fetch/{os.getpid()}"
    differing = [ref for ref, oid in theirs.items() if oid != ours.get(ref)]
    temporary = {f"{prefix}/{number}": ref for number, ref in enumerate(differing)}
    if not temporary:
        return
    try:
        remote.fetch_refs({ref: target for target, ref in temporary.items()})
        fetched = {temporary[t]: oid for t, oid in refs.list_refs(repo, prefix).items()}
        _unite_all(repo, fetched, ours)
        conversion.unite_places(repo)
    finally:
        updates = [(target, None, oid) for target, oid in refs.list_refs(repo, prefix).items()]
        with suppress(Error):
            refs.update_refs(repo, updates, "gitcp: fetched")


def _unite_all(repo: Repo, theirs: Tips, ours: Tips) -> None:
    """unite_ref() for many; refs that are new here are made in one transaction."""
    repo.objects.read_ahead(theirs.values())
    strange = [ref for ref, oid in theirs.items() if read_commit(repo.objects, oid) is None]
    for ref in strange:
        console.warn_lacking(f"'{ref}' of the remote is not a commit")
    checkpoints = {ref for ref in theirs if parse_checkpoint_ref(ref)}
    new = checkpoints - ours.keys() - {*strange}
    existing = theirs.keys() - strange - new
    try:
        with exclusive(repo, "v1"):
            refs.set_markers(repo)
            refs.update_refs(
                repo, [(ref, theirs[ref], None) for ref in sorted(new)], "gitcp: fetch"
            )
    except Moved:
        existing |= new
    for ref in sorted(existing):
        unite_ref(repo, ref, theirs[ref])


def unite_ref(repo: Repo, ref: str, theirs: str) -> str:
    """Move ref to a commit that has its history and that of theirs (an oid); return it."""
    checkpoint_id = parse_checkpoint_ref(ref)
    if ref == refs.REF and not repo.jj_root:
        writing.restore_branch(repo)

    def attempt_move() -> str:
        ours = refs.read_ref(repo, ref)
        merged = merging.merge_histories(repo, ours, theirs, _choose_join(ref), checkpoint_id)
        if merged != ours:
            writing.move_refs(repo, [(ref, merged, ours)], "gitcp: merge")
            git.append_trace("sync", f"{ref} is now {merged}")
            if not _is_notes(ref):
                merging.drop_replaced(repo, [(ref, merged, ours)])
        return merged

    return refs.retry_moved(repo, "notes" if _choose_join(ref) else "v1", attempt_move)


def _note_pushed(repo: Repo, place: SharedPlace, tips: Tips) -> None:
    """Write down a place's tips; remove the marker of unpushed checkpoints if each place that was
    agreed to has everything."""
    with exclusive(repo, "v1"), exclusive(repo, "notes"):
        listing.set_pushed(repo, place.url, tips)
        agreed = places.list_agreed(repo)
        if agreed and all(_has_everything(repo, url) for url in agreed):
            files.remove_private(repo, repo.join_shared("unpushed"))


def _has_everything(repo: Repo, url: str) -> bool:
    tips = listing.read_pushed(repo, url)
    return choose_outgoing(repo, tips).items() <= tips.items()


def select_notes(repo: Repo, ours: str, theirs: str, join: Join) -> str:
    """The tip of notes to push: without those notes new to the remote that are on commits which no
    branch or tag reaches.

    This is ours if there are no such notes, theirs if there is nothing else to push, else a commit
    on theirs.  theirs: the remote's tip, "" for none.  join: makes one note of two.
    """
    our_tree = need_commit(repo.objects, ours)["tree"]
    remote_tip = read_commit(repo.objects, theirs)
    tree = remote_tip["tree"] if remote_tip else None
    new: dict[str, str] = {}  # commit -> path
    for path, old, _ in compare_trees(repo.objects, tree, our_tree):
        if not old:
            new[path.replace("/", "")] = path
    unreached = _list_unreached(repo, new)
    if not unreached:
        return ours
    selected = edit_tree(repo.objects, our_tree, {new[commit]: None for commit in unreached})
    if tree:
        selected = merging.merge_note_trees(repo.objects, selected, tree, join=join)
    if selected == tree:
        return theirs
    parents = [theirs] if remote_tip else []
    return write_commit(repo, selected, parents, _SUBJECT)


def _list_unreached(repo: Repo, oids: Iterable[str]) -> list[str]:
    """The missing objects of oids, and the commits that no branch or tag of a person reaches."""
    commits: list[str] = []
    unreached: list[str] = []
    for oid in oids:
        obj = repo.objects.read(oid)
        if obj is None:
            unreached.append(oid)
        elif obj[1] == "commit":
            commits.append(oid)
    if commits:
        lines = encode_lines(sorted(commits))
        listed = set(list_commits(repo, "--stdin", "--not", *ALL, stdin=lines))
        unreached += [oid for oid in commits if oid in listed]
    return unreached
