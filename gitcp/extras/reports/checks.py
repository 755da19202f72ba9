"""The records of check and verify: a range by its rules, and the checkpoints of its commits."""

from __future__ import annotations

from typing import NamedTuple

from gitcp.checkpoints import recorded_edits
from gitcp.checkpoints.share import remote
from gitcp.checkpoints.stored import Parts, Places, read_session
from gitcp.errors import Error
from gitcp.git import decode_name, objects
from gitcp.git.objects import Objects, read_commit
from gitcp.git.records import decode_lines
from gitcp.git.repo import Repo
from gitcp.lines import exports
from gitcp.lines.check_rules import (
    judge_attested,
    judge_checkpoint,
    judge_secret,
    judge_shares,
    parse_rules,
)
from gitcp.lines.sums import Sums
from gitcp.lines.tally import count_commit
from gitcp.link import commits
from gitcp.setup import team_settings
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.lines.check_rules import Reason
    from gitcp.text.record_types import Record


def check_range(repo: Repo, revisions: Sequence[str], target: str) -> Record:
    """A record `check` (gitcp-record(5)) of the commits of the revisions.

    target: the revision whose file has the rules, '' for the start of a range `<target>..<head>`.
    Raises Error without a target, for an invalid file and for an unknown revision.
    """
    target = target or _find_target(revisions)
    rules = parse_rules(*team_settings.read_table(repo, target, "check"))
    sums = Sums()
    reasons = list["Reason"]()
    seen: dict[str, None] = {}
    with Objects(repo):
        for commit in exports.list_commits(repo, revisions, ()):
            sums.take(count_commit(commit))
            agent = commit["unsaid"]["agent"]
            if agent and not commit["linked"]:
                reasons += judge_attested(rules, commit["oid"], agent)
        if {"need-checkpoints", "need-signatures", "no-secrets"} & rules.keys():
            for verified in verify_links(repo, revisions):
                seen[verified["checkpoint_id"]] = None
                reasons += judge_checkpoint(rules, verified)
        if "no-secrets" in rules:
            reasons += _find_secrets(repo, revisions, seen)
    reasons = [*judge_shares(rules, sums.added), *reasons]
    return {
        "type": "check",
        "target": target,
        "rules": rules,
        "verdict": "fails" if reasons else "passes",
        "reasons": reasons,
        "commits": sums.commits,
        "linked": sums.linked,
        "added": sums.added,
    }


def _find_target(revisions: Sequence[str]) -> str:
    for word in revisions:
        for dots in ("...", ".."):
            begin, mark, _ = word.partition(dots)
            if mark:
                return begin or "HEAD"
    raise Error("give a range such as main..HEAD, or name the rules: '--rules <revision>'")


def _find_secrets(
    repo: Repo, revisions: Sequence[str], checkpoints: Iterable[str]
) -> Iterator[Reason]:
    """The reasons against secrets that the range adds, and against those in its checkpoints."""
    ends = decode_lines(repo.git.run("rev-parse", "--revs-only", *revisions)[1])
    tips = [end for end in ends if not end.startswith("^")]
    excluded = [end[1:] for end in ends if end.startswith("^")]
    for _, path, kind in remote.find_secrets(repo, tips, excluded, stored=False):
        yield judge_secret(path, kind)
    places = Places(repo)
    trees = {name: place[1] for name in checkpoints if (place := places.find_checkpoint(name))}
    if trees and any(remote.find_secrets(repo, trees.values(), ())):
        for name, tree in trees.items():
            for _, path, kind in remote.find_secrets(repo, [tree], ()):
                yield judge_secret(f"checkpoint {name}: {path}", kind)


# Verifying the checkpoints of linked commits: signature, hashes, and the commit's content.
_SIGNED = ("log", "-1", "--format=%H%x00%G?%x00%GS%x00%GK")
# git's letters for the state of a signature.
_WORDS = {
    "G": "good",
    "U": "good, of unknown validity",
    "X": "good, expired",
    "Y": "good, by a key that expired",
    "R": "by a key that was revoked",
    "E": "cannot be checked",
    "B": "bad",
    "N": "none",
}
_BAD = ("B", "R")


def verify_links(
    repo: Repo, revisions: Sequence[str], need_signed: bool = False
) -> Iterator[Record]:
    """A record of type verified for each checkpoint of each linked commit of the revisions (none:
    HEAD): signature, signer, key, hashes (session -> match, differs or absent), content, and
    failures, the errors found.

    need_signed: a signature that is missing or cannot be checked is a failure.
    """
    with Objects(repo):
        places = Places(repo)
        for commit in commits.list_bare_commits(repo, revisions):
            for link in commit["checkpoints"]:
                if link["linked"] in ("trailer", "note"):
                    yield _verify_checkpoint(
                        repo, places, commit["oid"], link["checkpoint_id"], need_signed
                    )
            repo.objects.ahead.forget()


def _verify_checkpoint(
    repo: Repo,
    places: Places,
    oid: str,
    checkpoint_id: str,
    need_signed: bool,
) -> Record:
    record: Record = {"type": "verified", "commit": oid, "checkpoint_id": checkpoint_id}
    try:
        place = places.find_checkpoint(checkpoint_id)
    except Error as e:
        return {**record, "failures": [str(e)]}
    if place is None:
        return {**record, "failures": ["it is not stored here"]}
    checkpoint = Parts(repo.objects, checkpoint_id).load_checkpoint(*place)
    letter, signer, key = _read_signature(repo, checkpoint_id, place[0])
    hashes = {}
    for entry in checkpoint["sessions"]:
        stored = read_session(repo.objects, checkpoint, entry["index"])
        hashes[entry["session_id"]] = stored.hash
    commit = read_commit(repo.objects, oid)
    if commit:
        changed = objects.read_changes(repo.objects, commit)[1]
    else:
        changed = {}
    content = recorded_edits.has_content(repo.objects, checkpoint, changed)
    signed = letter in "GUXY"
    if letter in _BAD:
        failures = [f"its signature is {_WORDS[letter]}"]
    else:
        failures = []
    if need_signed and not signed and not failures:
        failures.append(f"its signature: {_WORDS[letter]}")
    differing = [session for session, state in hashes.items() if state == "differs"]
    failures += [f"the transcript of '{name}' is not what its hash says" for name in differing]
    failures += [] if content else ["the commit has nothing of it"]
    failures += checkpoint["lacks"]
    return {
        **record,
        "signature": _WORDS[letter],
        "signer": signer,
        "key": key,
        "hashes": hashes,
        "content": content,
        "failures": failures,
    }


class _Signature(NamedTuple):
    """What git says of a commit's signature."""

    letter: str
    signer: str
    key: str


def _read_signature(repo: Repo, checkpoint_id: str, ref: str) -> _Signature:
    """The signature of the store's last commit that changed a checkpoint."""
    own = ids.parse_checkpoint_ref(ref)
    paths = () if own else ("--", f"{checkpoint_id[:2]}/{checkpoint_id[2:]}")
    line = decode_name(repo.git.run(*_SIGNED, ref, *paths)[1]).rstrip("\n")
    fields = [*line.split("\0"), "", "", ""]
    return _Signature(fields[1] if fields[1] in _WORDS else "N", fields[2], fields[3])
