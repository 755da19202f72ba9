"""The stages of a commit: its sessions, its message, its checkpoint, its streams."""

from __future__ import annotations

import os

from gitcp.console.options import make_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.core.record_types import Marker, Record
    from gitcp.repo import Repo
    from gitcp.store.git.refs import Edit


def match_commit(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
    """A match record for each event prepare-commit-msg and post-commit; with args.commit one for
    each session that would link to that commit."""
    return _judge_commit(args.commit) if args.commit else _match_events(records)


def _match_events(records: Iterable[Record]) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.link import commit_hooks

    for record in records:
        hook = record.get("event")
        if hook not in ("prepare-commit-msg", "post-commit"):
            yield record
            continue
        with context.open_here() as ctx:
            if hook == "prepare-commit-msg":
                prepared = commit_hooks.prepare(ctx.repo, ctx.objects, record["args"])
                match: Record = {**prepared, "args": record["args"]}
            else:
                match = {**commit_hooks.conclude(ctx.repo, ctx.objects)}
        yield {"type": "match", **match}


def _judge_commit(commit: str) -> Iterator[Record]:
    """Decide anew what would link to a commit; nothing is written."""
    from gitcp import context
    from gitcp.store.git import commit_changes
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link import commit_match

    with context.open_here() as ctx:
        judged = need_commit(ctx.objects, commit)
        parent, changes = commit_changes.read_changes(ctx.objects, judged)
        linked = commit_match.match_sessions(ctx.repo, ctx.objects, changes, parent, agent=False)
    for session_id, why in linked.items():
        yield {"type": "match", "commit": judged["oid"], "session_id": session_id, **why}


def write_trailer(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Write a trailer for each id of a match record into the message file that it names."""
    for record in records:
        if record.get("type") == "match" and record.get("args"):
            _write_ids(record)
        yield record


def _write_ids(match: Record) -> None:
    from gitcp.core.message import trailers
    from gitcp.repo import Repo
    from gitcp.store.link import commit_arguments
    from gitcp.store.match import commit_memory

    repo = Repo.find_here()
    if os.path.isdir(repo.join_shared("exports")):
        from gitcp.store.session import conversation_copy

        for session_id in match["sessions"]:
            conversation_copy.renew(repo, session_id)
    path, source = match["args"][0], (match["args"] + [""])[1]
    with open(path, "rb") as f:
        before = f.read()
    comment, edited = b"", os.environ.get("GIT_EDITOR") != ":" or source in ("", "template")
    if edited or commit_arguments.find_cleanup_mode(repo) == "strip":
        comment = trailers.choose_comment_char(before, repo.config.get("core.commentchar", "#"))
    _keep_template(repo, before if source == "template" else None)
    by_note = repo.config.get_option("gitcp.link") == "note"
    text, ids = _clean_message(match, before, comment, by_note)
    if ids and source == "message" and match["sessions"] and not _ask_consent(repo, match):
        ids = []
    if ids and by_note:
        text, commented = _add_disclosure(repo, match, text, [], comment), True
    else:
        text, commented = _add_ids(repo, match, text, ids, comment)
    if text != before:
        from gitcp.process import files

        files.replace_file(path, text, durable=False)  # on a full disk the old text stays
    commit_memory.mark_told(repo, commented)


def _clean_message(
    match: Record, text: bytes, comment: bytes, by_note: bool
) -> tuple[bytes, list[str]]:
    """(the message without trailers in the wrong place or of other commits, the ids it lacks).
    by_note: the message stays as it is."""
    from gitcp.core.message import trailers

    carried = trailers.read(text, comment=comment)
    drop, moved = set(match.get("drop", ())), list[str]()
    if match["gather"] and by_note:
        moved = trailers.find_anywhere(text)
    elif match["gather"]:
        buried, without = trailers.collect(text, comment=comment)
        if set(buried) != set(carried) or drop.intersection(buried):
            text, moved = without, buried
    elif drop:
        text, moved = trailers.remove(text, comment=comment), carried
    ids = [*(cid for cid in moved if cid not in drop), *match["ids"]]
    carried = trailers.read(text, comment=comment)
    return text, [cid for cid in dict.fromkeys(ids) if cid not in carried]


def _add_ids(
    repo: Repo, match: Record, text: bytes, ids: list[str], comment: bytes
) -> tuple[bytes, bool]:
    """(the message with its ids in the last trailer block, False); or with comments instead, True.

    `git commit -n` runs no hook that checks the message, so a trailer would keep an empty message
    from aborting.  Such a message gets the ids in comments, and the commit a note.
    """
    from gitcp.core.message import trailers
    from gitcp.store.link import commit_arguments

    mode = commit_arguments.find_cleanup_mode(repo) if ids else "verbatim"
    strips = mode not in ("verbatim", "whitespace")
    about = _explain_line(repo, match) if strips else []
    empty = "template" in match["args"][1:2] or trailers.is_unwritten(text, comment=comment)
    if not (ids and empty) or commit_arguments.will_check_message(repo):
        return _add_disclosure(repo, match, text, ids, comment, about), False
    if comment and strips:
        about = [f"{trailers.KEY}: {cid} (in a note)" for cid in ids] + about[1:]
        text = b"".join(trailers.add_comments(trailers.split(text), comment, about))
    return text, True


def _add_disclosure(
    repo: Repo,
    match: Record,
    text: bytes,
    ids: list[str],
    comment: bytes,
    about: Sequence[str] = (),
) -> bytes:
    """The message with its ids, and with the trailers of gitcp.disclose about the sessions."""
    from gitcp.core.message import trailers

    key = repo.config.get_option("gitcp.disclose")
    if not key or not match["sessions"]:
        return trailers.add(text, ids, comment=comment, comments=about)
    from gitcp.store.link import disclosure

    if trailers.is_unwritten(text, comment=comment):
        disclosure.request_check(repo)
    more = disclosure.format_lines(repo, key, sorted(match["sessions"]))
    return trailers.add(text, ids, comment=comment, comments=about, more=more)


def _keep_template(repo: Repo, text: bytes | None) -> None:
    """Store the template that git gave, for check-message: a message that equals it is empty."""
    from gitcp.store.git import private

    path = repo.join_own("template")
    if text is None:
        private.remove_private(repo, path)
    else:
        private.write_private(repo, path, text)


def _explain_line(repo: Repo, match: Record) -> list[str]:
    """The comment about the trailer for the person's editor."""
    markers = _list_markers(repo, match)
    sessions = [f"  {m['agent_type'] or 'an agent'}: {m['prompt'][:60]}" for m in markers]
    return ["Remove the line Entire-Checkpoint if this commit is not the work of:", *sessions]


def _list_markers(repo: Repo, match: Record) -> list[Marker]:
    from gitcp.store.session import markers

    return [m for name in sorted(match["sessions"]) if (m := markers.find(repo, name))]


def _ask_consent(repo: Repo, match: Record) -> bool:
    """Ask the person at the terminal if gitcp.link is `ask`; yes is the default."""
    if repo.config.get_option("gitcp.link") != "ask":
        return True
    if any(linked["how"] != "content" for linked in match["sessions"].values()):
        return True  # the agent commits by itself
    try:
        with open("/dev/tty", "r+b", buffering=0) as tty:
            for marker in _list_markers(repo, match):
                tty.write(f"Last prompt: {marker['prompt'][:80]}\n".encode())
            tty.write(b"Link this commit to the session? [Y/n] ")
            return tty.readline().strip().lower() not in (b"n", b"no")
    except OSError:
        return True


_KEEPING = ("scissors", "whitespace", "verbatim")  # cleanup modes that keep comments


def check_message(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Empty the file of a commit-msg event that has nothing but trailers, so that the commit
    aborts, as it would without gitcp."""
    from gitcp.repo import Repo

    for record in records:
        if record.get("event") == "commit-msg" and record["args"]:
            _check_file(Repo.find_here(), record["args"][0])
        yield record


def _check_file(repo: Repo, path: str) -> None:
    from gitcp.core.message import trailers
    from gitcp.process import files
    from gitcp.store.git import private
    from gitcp.store.link import commit_arguments

    with open(path, "rb") as f:
        text = f.read()
    comment = trailers.choose_comment_char(text, repo.config.get("core.commentchar", "#"))
    template = private.read_cache(repo.join_own("template"))
    mode = commit_arguments.find_cleanup_mode(repo)
    if mode in _KEEPING or (mode != "strip" and os.environ.get("GIT_EDITOR") == ":"):
        # Comments are text here; what is below the scissors line is not.
        text, template = _cut_message(text, comment), _cut_message(template, comment)
        comment = b""
    key = repo.config.get_option("gitcp.disclose") or ""
    if trailers.has_only_trailers(text, comment=comment, template=template, disclosing=key):
        emptied = trailers.collect(trailers.remove_key(text, key), comment=comment)[1]
        files.replace_file(path, emptied, durable=False)


def _cut_message(text: bytes, comment: bytes) -> bytes:
    from gitcp.core.message import trailers

    lines = trailers.split(text)
    return b"".join(lines[: trailers.find_cut(lines, comment)])


def condense_matches(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Condense or dismiss the sessions of each match record of post-commit; pass all on."""
    for record in records:
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            _condense_commit(record)
        yield record


def _condense_commit(match: Record) -> None:
    from gitcp import context
    from gitcp.store.git import reflog

    if match["id"] or match["dismissed"]:
        _settle_match(match)
    with context.open_here() as ctx:
        for checkpoint_id in match.get("inherited", ()):
            from gitcp.store.git import notes

            notes.add_link(ctx.repo, ctx.objects, match["commit"], checkpoint_id)
        if match["carried"]:
            from gitcp.store.lines import carried
            from gitcp.store.link import commit_sessions

            old_commits = commit_sessions.list_taken_back(ctx.repo, match["old"])
            sources = old_commits if len(old_commits) < commit_sessions.MOST else ()
            replaced = {match["commit"]: sources}
            carried.follow_lines(ctx.repo, ctx.objects, [match["commit"]], replaced)
        if (match["id"] or match["carried"]) and reflog.list_stashes(ctx.repo):
            from gitcp.store.match import lost_commits

            lost_commits.add_stashed(ctx.repo, ctx.objects, match["commit"])
        if not match["id"]:
            from gitcp.store.lines import ai_notes

            ai_notes.keep(ctx.repo, [match["commit"]])


def _settle_match(match: Record) -> None:
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link import commit_sessions

    failed: dict[str, Exception] = {}
    with context.open_here() as ctx:
        commit, old = need_commit(ctx.objects, match["commit"]), match["old"]
        states = ctx.read_states(match["sessions"])
        if match["dismissed"]:
            commit_sessions.dismiss_sessions(ctx.repo, ctx.objects, commit, states.values(), old)
        else:
            pairs = [(state, match["sessions"][name]) for name, state in states.items()]
            about = (commit, match["id"], pairs, old, match["noted"])
            failed = commit_sessions.store_sessions(ctx.repo, ctx.objects, *about)
        for session_id, state in states.items():
            if session_id not in failed:
                ctx.keep(state)
        ctx.leave()  # streams are moved by the states on disk
    if failed:
        _leave_out(match, failed)


def _leave_out(match: Record, failed: Mapping[str, Exception]) -> None:
    """Remove sessions that failed from a match: their own next events store them."""
    from gitcp.console import notice
    from gitcp.errors import format_error
    from gitcp.store.git import hook_warnings

    for session_id, error in failed.items():
        message = f"session '{session_id}' is left out of its commit for now: {format_error(error)}"
        notice.warn(message)
        hook_warnings.warn_here(message)
    stored = {name: why for name, why in match["sessions"].items() if name not in failed}
    match |= {"sessions": stored, "left_out": sorted(failed)}


def carry_forward(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Move the streams of the old base to each match record's commit; a ref record for each ref
    that is written."""
    for record in records:
        yield record
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            for ref, new, old in _move_streams(record):
                yield {"type": "ref", "ref": ref, "oid": new, "old_oid": old}


def _move_streams(match: Record) -> list[Edit]:
    from gitcp import context
    from gitcp.store.git import commit_changes
    from gitcp.store.git.commit import need_commit
    from gitcp.store.journal import open_edits
    from gitcp.store.match import commit_memory
    from gitcp.store.stream import carry_forward

    with context.open_here() as ctx:
        if commit_memory.is_replaying(ctx.repo):
            return []  # more commits are replayed: the next event moves the streams
        commit = need_commit(ctx.objects, match["commit"])
        changes = commit_changes.read_changes(ctx.objects, commit)[1]
        waiting = match.get("left_out", ())
        open_edits.settle_commit(ctx.repo, ctx.objects, commit, changes, excluded=waiting)
        settled = set(match["sessions"]) if match["linked"] else None
        edits = carry_forward.carry_streams(ctx.repo, ctx.objects, match["old"], commit, settled)
        if not match.get("left_out"):
            # A merge brings commits that were not judged here.
            old = match["old"] if len(commit["parents"]) < 2 else ""
            commit_memory.add_judged(ctx.repo, commit["oid"], old)
        return edits


STAGES = {
    "match-commit": (
        match_commit,
        make_value("commit", "<commit>", "a commit that is made", nargs="?"),
    ),
    "write-trailer": (write_trailer,),
    "check-message": (check_message,),
    "condense": (condense_matches,),
    "carry-forward": (carry_forward,),
}
