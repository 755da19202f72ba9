"""A commit: its sessions, its message, its checkpoint, its streams."""

from __future__ import annotations

import os

from gitcp.errors import InputError, format_error
from gitcp.events import build_messages, is_of_git, per_record
from gitcp.git import commit_message, encode_name, files, objects, refs
from gitcp.git.files import locate_exports
from gitcp.git.objects import need_commit
from gitcp.link import linking
from gitcp.link.commit import (
    conclude_commit,
    find_cleanup_mode,
    is_quiet,
    locate_template,
    match_sessions,
    prepare_commit,
    will_check_message,
)
from gitcp.record import session
from gitcp.record.journal import settling
from gitcp.record.match import (
    add_judged,
    is_replaying,
    is_unseen,
    load_verdict,
    mark_told,
    read_judged,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeGuard

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import (
        CommitMatch,
        Linked,
        LinkedMatch,
        Marker,
        MessageMatch,
        MovedRef,
        Passed,
    )

# What a match of post-commit says, as conclude_commit() makes it.
_CONCLUDED = ("id", "sessions", "dismissed", "noted", "linked", "carried", "merged")
_HEADING = "Remove the line Entire-Checkpoint if this commit is not the work of:"
_KEEPING = ("scissors", "whitespace", "verbatim")  # cleanup modes that keep comments


@per_record
def write_trailer(ctx: Context, item: Passed) -> list[Passed]:
    """Write a trailer for each id of a match record into the message file that it names."""
    if _is_of_message(item):
        _write_message(ctx.repo, item)
    return [item]


def _is_of_message(item: Passed) -> TypeGuard[MessageMatch]:
    """Whether a record is the match of a prepare-commit-msg."""
    return item.get("type") == "match" and bool(item.get("args"))


def _write_message(repo: Repo, match: MessageMatch) -> None:
    """Write the ids of a commit into its message, or a comment that says that a note has them."""
    if os.path.isdir(locate_exports(repo)):
        for session_id in match["sessions"]:
            from gitcp.record.session import exports

            exports.renew_copy(repo, session_id)
    path = match["args"][0]
    source = [*match["args"], ""][1]
    with open(path, "rb") as f:
        before = f.read()
    _keep_template(repo, before if source == "template" else None)
    comment = b""
    edited = os.environ.get("GIT_EDITOR") != ":" or source in ("", "template")
    if edited or find_cleanup_mode(repo) == "strip":
        comment = _find_comment_char(repo, before)
    by_note = repo.config.get_option("gitcp.link") == "note"
    text, ids = _clean_message(match, before, comment, by_note)
    sessions = match["sessions"]
    if ids and source == "message" and sessions and not _ask_consent(repo, sessions):
        ids = []
    exposed = False
    if ids and not by_note and _will_stay_empty(repo, text, comment, source):
        text = _add_comment(repo, sessions, text, ids, comment)
        noted = True
    else:
        noted = by_note and bool(ids)
        text = _add_trailers(repo, sessions, text, [] if noted else ids, comment)
        exposed = bool(ids) and not noted and bool(os.environ.get("GITCP_CONFIGURED"))
    if text != before:
        files.replace_file(path, text, durable=False)  # on a full disk the old text stays
    is_unseen_by_person = exposed and os.environ.get("GIT_EDITOR") == ":"
    mark_told(repo, commented=noted or is_unseen_by_person, exposed=exposed)


def _find_comment_char(repo: Repo, text: bytes) -> bytes:
    from gitcp.git import commit_message

    return commit_message.choose_comment_char(text, repo.config.get("core.commentchar", "#"))


def _clean_message(
    match: MessageMatch, text: bytes, comment: bytes, by_note: bool
) -> tuple[bytes, list[str]]:
    """(the message without trailers that are in the wrong place or of other commits, the ids that
    it lacks).  by_note: ids belong into a note, and misplaced ones stay."""
    from gitcp.git import commit_message

    carried = commit_message.read_trailers(text, comment=comment)
    drop = set(match.get("drop", ()))
    moved = list[str]()
    if match["gather"] and by_note:
        moved = commit_message.find_anywhere(text)
    elif match["gather"]:
        buried, without = commit_message.collect_trailers(text, comment=comment)
        if set(buried) != set(carried) or drop.intersection(buried):
            text = without
            moved = buried
    elif drop:
        text = commit_message.remove_trailers(text, comment=comment)
        moved = carried
    ids = [*(cid for cid in moved if cid not in drop), *match["ids"]]
    carried = commit_message.read_trailers(text, comment=comment)
    return text, [cid for cid in dict.fromkeys(ids) if cid not in carried]


def _will_stay_empty(repo: Repo, text: bytes, comment: bytes, source: str) -> bool:
    """Whether trailers would keep an empty message from aborting the commit: `git commit -n` runs
    no hook that empties it again."""
    from gitcp.git import commit_message

    empty = source == "template" or commit_message.is_unwritten(text, comment=comment)
    return empty and not will_check_message(repo)


def _will_strip_comments(repo: Repo) -> bool:
    return find_cleanup_mode(repo) not in ("verbatim", "whitespace")


def _add_comment(
    repo: Repo, sessions: Mapping[str, Linked], text: bytes, ids: list[str], comment: bytes
) -> bytes:
    """The message with a comment about ids, which a note will have."""
    from gitcp.git import commit_message

    if not (comment and _will_strip_comments(repo)):
        return text
    lines = [f"{commit_message.KEY}: {cid} (in a note)" for cid in ids]
    lines += _list_prompts(repo, sessions)
    return b"".join(commit_message.add_comments(commit_message.split_lines(text), comment, lines))


def _add_trailers(
    repo: Repo, sessions: Mapping[str, Linked], text: bytes, ids: list[str], comment: bytes
) -> bytes:
    """The message with its ids in the last trailer block, a comment about them, and the trailers
    of gitcp.disclose about the sessions."""
    from gitcp.git import commit_message

    comments: Sequence[str] = ()
    if ids and _will_strip_comments(repo):
        comments = [_HEADING, *_list_prompts(repo, sessions)]
    key = repo.config.get_option("gitcp.disclose")
    disclosures = list[str]()
    if key and sessions:
        from gitcp.link import disclosure

        if commit_message.is_unwritten(text, comment=comment):
            disclosure.request_check(repo)
        disclosures = disclosure.format_lines(repo, key, sorted(sessions))
    return commit_message.add_trailers(
        text, ids, comment=comment, comments=comments, more=disclosures
    )


def _keep_template(repo: Repo, text: bytes | None) -> None:
    """Store git's template of the message: to check-message a message that equals it is empty."""
    path = locate_template(repo)
    if text is None:
        files.remove_private(repo, path)
    else:
        files.write_private(repo, path, text)


def _list_prompts(repo: Repo, sessions: Iterable[str]) -> list[str]:
    """A line for each session, for the person's editor."""
    linked = _list_markers(repo, sessions)
    return [f"  {m['agent_type'] or 'an agent'}: {m['prompt'][:60]}" for m in linked]


def _list_markers(repo: Repo, sessions: Iterable[str]) -> list[Marker]:
    found: list[Marker] = []
    for name in sorted(sessions):
        m = session.find_marker(repo, name)
        if m:
            found.append(m)
    return found


def _ask_consent(repo: Repo, sessions: Mapping[str, Linked]) -> bool:
    """Ask the person at the terminal if gitcp.link is `ask`; yes is the default."""
    if repo.config.get_option("gitcp.link") != "ask":
        return True
    if any(linked["how"] != "content" for linked in sessions.values()):
        return True  # the agent commits by itself
    try:
        with open("/dev/tty", "r+b", buffering=0) as tty:
            for marker in _list_markers(repo, sessions):
                tty.write(f"Last prompt: {marker['prompt'][:80]}\n".encode())
            tty.write(b"Link this commit to the session? [Y/n] ")
            return tty.readline().strip().lower() not in (b"n", b"no")
    except OSError:
        return True


@per_record
def check_message(ctx: Context, item: Passed) -> list[Passed]:
    """Put back the trailers that another hook dropped from the message of a commit-msg event; empty
    a message that has nothing but gitcp's trailers, so that the commit aborts, as it would without
    gitcp."""
    if is_of_git(item, "commit-msg") and item.get("args"):
        _check_file(ctx.repo, item["args"][0])
    return [item]


def _check_file(repo: Repo, path: str) -> None:
    from gitcp.git import commit_message

    with open(path, "rb") as f:
        text = f.read()
    comment = _find_comment_char(repo, text)
    template = files.read_cache(locate_template(repo))
    mode = find_cleanup_mode(repo)
    if mode in _KEEPING or (mode != "strip" and os.environ.get("GIT_EDITOR") == ":"):
        # Comments are text here; what is below the scissors line is not.
        text = _cut_message(text, comment)
        template = _cut_message(template, comment)
        comment = b""
    key = repo.config.get_option("gitcp.disclose") or ""
    if commit_message.has_only_trailers(text, comment=comment, template=template, disclosing=key):
        emptied = commit_message.collect_trailers(
            commit_message.remove_key(text, key), comment=comment
        )[1]
        files.replace_file(path, emptied, durable=False)
        return
    ids = _list_dropped(repo, text)
    if ids and not commit_message.is_unwritten(text, comment=comment):
        verdict = load_verdict(repo)
        sessions = verdict.sessions if verdict else {}
        files.replace_file(path, _add_trailers(repo, sessions, text, ids, comment), durable=False)


def _list_dropped(repo: Repo, text: bytes) -> list[str]:
    """The ids that prepare-commit-msg wrote into a message and that another hook dropped, as far as
    can be seen: not what a person removed in an editor.

    A hook drops the comment about the ids, too, which a person leaves where it is."""
    verdict = load_verdict(repo)
    if not verdict or not verdict.exposed or commit_message.find_anywhere(text):
        return []
    if os.environ.get("GIT_EDITOR") != ":":
        from gitcp.setup import configured_hooks

        is_seen = encode_name(_HEADING) in text or not _will_strip_comments(repo)
        if is_seen or not configured_hooks.has_later(repo, "prepare-commit-msg"):
            return []
    return [*verdict.ids]


def _cut_message(text: bytes, comment: bytes) -> bytes:
    lines = commit_message.split_lines(text)
    return b"".join(lines[: commit_message.find_cut(lines, comment)])


def match_commit(
    ctx: Context, records: Iterable[Passed], args: Namespace | None = None
) -> list[Passed]:
    """A match record in place of each event prepare-commit-msg and post-commit; with args.commit
    one for each session that would link to that commit."""
    if args and args.commit:
        return _judge_commit(ctx.repo, args.commit)
    return [_match_event(ctx, item) for item in records]


def _match_event(ctx: Context, item: Passed) -> Passed:
    if is_of_git(item, "post-commit"):
        return conclude_commit(ctx.repo).build_record()
    if is_of_git(item, "prepare-commit-msg"):
        moved = _settle_unseen(ctx)
        args = item.get("args", [])
        return prepare_commit(ctx.repo, ctx.head, args, moved).build_record(args)
    return item


def _settle_unseen(ctx: Context) -> bool:
    """Link what commits hold that no hook has judged, before the next one settles it; return
    whether HEAD has moved since the last event of a session."""
    repo = ctx.repo
    head = ctx.head
    if all(marker["base_commit"] == head for marker in session.read_recent(repo)):
        return False
    if is_replaying(repo) or not is_unseen(repo, head):
        return True
    if head not in read_judged(repo):
        from gitcp.link import relink

        relink.follow_head_everywhere(ctx)
        ctx.leave()  # markers are read from the disk
    return True


def _judge_commit(repo: Repo, commit: str) -> list[Passed]:
    """Decide anew what would link to a commit; nothing is written."""
    judged = need_commit(repo.objects, commit)
    parent, changes = objects.read_changes(repo.objects, judged)
    linked = match_sessions(repo, changes, parent, is_made_now=False)
    found: list[Passed] = []
    for session_id, why in linked.items():
        match: LinkedMatch = {
            "type": "match",
            "commit": judged["oid"],
            "session_id": session_id,
            **why,
        }
        found.append(match)
    return found


@per_record
def condense(ctx: Context, match: Passed) -> list[Passed]:
    """Condense or dismiss the sessions of a match record of post-commit; tell the person what the
    commit was linked to."""
    if not _is_of_commit(match):
        return [match]
    is_news = not match.get("replays") and _look_for_unheard(ctx.repo)
    _condense_commit(ctx, match)
    said = []
    if _is_watched(ctx.repo, match):
        said.append(linking.describe_links(match["sessions"]))
    if is_news:
        from gitcp.extras.imports.unasked import notice_unrecorded

        said.append(notice_unrecorded(ctx.repo, tells=_is_at_terminal()))
    return [match, *build_messages(*said)]


def _look_for_unheard(repo: Repo) -> bool:
    """Look for conversations of which no hook has heard, if a client has something new; return
    whether it has."""
    from gitcp.record import unheard

    compared = unheard.compare_list(repo)
    if not compared.is_look_due:
        if compared.grown:
            unheard.date_list(repo, compared.grown)
        return False

    from gitcp.record.unheard import unrecorded

    unrecorded.look(repo)
    return True


def _is_of_commit(item: Passed) -> TypeGuard[CommitMatch]:
    """Whether a record is the match of a post-commit.  Raises InputError if it is incomplete."""
    if item.get("type") != "match" or not item.get("commit") or "old" not in item:
        return False
    lacking = [key for key in _CONCLUDED if key not in item]
    if lacking:
        raise InputError(f"a match record of post-commit lacks '{lacking[0]}'")
    return True


def _is_watched(repo: Repo, match: CommitMatch) -> bool:
    """Whether a person makes this one commit and is at the terminal."""
    if not match.get("linked") or match.get("replays") or not _is_at_terminal():
        return False
    sessions = match["sessions"].values()
    if any(linked["how"] != "content" for linked in sessions):  # an agent commits
        return False
    if os.path.exists(os.path.join(repo.git_dir, "sequencer")):
        return False
    return bool(repo.config.get_option("gitcp.say")) and not is_quiet(repo)


def _is_at_terminal() -> bool:
    return os.isatty(2) and not os.environ.get("CI")


def _condense_commit(ctx: Context, match: CommitMatch) -> None:
    if match["id"] or match["dismissed"]:
        _store_sessions(ctx, match)
    for checkpoint_id in match.get("inherited", ()):
        from gitcp.checkpoints import notes

        notes.add_link(ctx.repo, match["commit"], checkpoint_id)
    if match["carried"]:
        from gitcp.link import commit_sessions

        taken_back = commit_sessions.list_taken_back(ctx.repo, match["old"])
        is_whole_list = len(taken_back) < commit_sessions.MOST_TAKEN_BACK
        replaced = {match["commit"]: match["merged"] or (taken_back if is_whole_list else ())}

        from gitcp.lines import carried

        carried.follow_lines(ctx.repo, [match["commit"]], replaced)
    if (match["id"] or match["carried"]) and refs.list_stashes(ctx.repo):
        from gitcp.record.match.taken_back import add_stashed

        add_stashed(ctx.repo, match["commit"])
    if not match["id"]:
        from gitcp.lines import commit_lines

        commit_lines.keep_ai_note(ctx.repo, [match["commit"]])


def _store_sessions(ctx: Context, match: CommitMatch) -> None:
    """Store the sessions of a match as its checkpoint, or dismiss them; one that fails is removed
    from the match."""
    failed: dict[str, Exception] = {}
    repo = ctx.repo
    old = match["old"]
    commit = need_commit(repo.objects, match["commit"])
    states = ctx.read_states(match["sessions"])
    from gitcp.link import commit_sessions

    if match["dismissed"]:
        commit_sessions.dismiss_sessions(repo, commit, states.values(), old)
    else:
        matched = [(state, match["sessions"][name]) for name, state in states.items()]
        failed = commit_sessions.store_sessions(
            repo, commit, match["id"], matched, old, match["noted"]
        )
    for session_id, state in states.items():
        if session_id not in failed:
            ctx.keep(state)
    ctx.leave()  # streams are moved by the states on disk
    if failed:
        _leave_out(match, failed)


def _leave_out(match: CommitMatch, failed: Mapping[str, Exception]) -> None:
    """Remove sessions that failed from a match: their own next events store them."""
    for session_id, error in failed.items():
        message = f"session '{session_id}' is left out of its commit for now: {format_error(error)}"
        from gitcp.text import console

        console.warn(message)

        from gitcp.git import hook_warnings

        hook_warnings.warn_here(message)
    stored = {name: why for name, why in match["sessions"].items() if name not in failed}
    match["sessions"] = stored
    match["left_out"] = sorted(failed)


@per_record
def carry_forward(ctx: Context, match: Passed) -> list[Passed]:
    """Move the streams of the old base to a match record's commit; a ref record for each ref that
    is written."""
    if not _is_of_commit(match):
        return [match]
    if is_replaying(ctx.repo):
        return [match]  # more commits are replayed: the next event moves the streams
    commit = need_commit(ctx.repo.objects, match["commit"])
    changes = objects.read_changes(ctx.repo.objects, commit)[1]
    left_out = match.get("left_out", ())
    settling.settle_commit(ctx.repo, commit, changes, excluded=left_out)
    settled = None
    if match["linked"]:
        settled = set(match["sessions"])

    from gitcp.record.stream import writing

    moved = writing.carry_streams(ctx.repo, match["old"], commit, settled)
    if not left_out:
        # A merge brings commits that were not judged here; a commit of no session may hold work
        # of another branch, which the next event looks for.
        is_settled = len(commit["parents"]) < 2 and (match["sessions"] or match["carried"])
        old = ""
        if is_settled or match["dismissed"]:
            old = match["old"]
        add_judged(ctx.repo, commit["oid"], old)
    written: list[MovedRef] = []
    for ref, new, old_tip in moved:
        written.append({"type": "ref", "ref": ref, "oid": new, "old": old_tip})
    return [match, *written]


PIPELINES = {
    "prepare-commit-msg": (match_commit, write_trailer),
    "commit-msg": (check_message,),
    "post-commit": (match_commit, condense, carry_forward),
}
