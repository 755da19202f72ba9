"""Checking a range against the rules of the branch that it will be merged into."""

from __future__ import annotations

from gitcp.core.stats import gate
from gitcp.core.stats.sums import Sums
from gitcp.errors import Error
from gitcp.record import decode_lines
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.lines import ranges
from gitcp.store.setup import team_file
from gitcp.store.share import push_check
from gitcp.store.show import verifying
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.stats.gate import Reason
    from gitcp.repo import Repo


def check_range(repo: Repo, revisions: Sequence[str], target: str = "") -> Record:
    """A record `check` (gitcp-record(5)) of the commits of the revisions.

    target: the revision whose file has the rules, '' for the start of a range `<target>..<head>`.
    Raises Error without a target, for an invalid file and for an unknown revision.
    """
    target = target or _find_target(revisions)
    rules = gate.parse_rules(*team_file.read_table(repo, target, "check"))
    sums, reasons = Sums(), list["Reason"]()
    seen: dict[str, None] = {}
    with Prefetched(repo) as objects:
        for commit in ranges.list_commits(repo, objects, revisions, ()):
            sums.take(commit)
            if (agent := commit["unsaid"]["agent"]) and not commit["linked"]:
                reasons += gate.judge_attested(rules, commit["oid"], agent)
        if {"need-checkpoints", "need-signatures", "no-secrets"} & rules.keys():
            for verified in verifying.verify_links(repo, revisions):
                seen[verified["checkpoint_id"]] = None
                reasons += gate.judge_checkpoint(rules, verified)
        if "no-secrets" in rules:
            reasons += _find_secrets(repo, objects, revisions, seen)
    reasons = [*gate.judge_shares(rules, sums.added), *reasons]
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
    raise Error("no range '<target>..<head>' names the target branch: give one, or '--rules'")


def _find_secrets(
    repo: Repo, objects: Prefetched, revisions: Sequence[str], checkpoints: Iterable[str]
) -> Iterator[Reason]:
    """The reasons against secrets that the range adds, and against those in its checkpoints."""
    ends = decode_lines(repo.git.run("rev-parse", "--revs-only", *revisions)[1])
    tips = [end for end in ends if not end.startswith("^")]
    excluded = [end[1:] for end in ends if end.startswith("^")]
    for _, path, kind in push_check.find_secrets(repo, objects, tips, excluded, stored=False):
        yield gate.judge_secret(path, kind)
    places = committed_refs.Places(repo, objects)
    trees = {name: place[1] for name in checkpoints if (place := places.find_checkpoint(name))}
    if trees and any(push_check.find_secrets(repo, objects, trees.values(), ())):
        for name, tree in trees.items():
            for _, path, kind in push_check.find_secrets(repo, objects, [tree], ()):
                yield gate.judge_secret(f"checkpoint {name}: {path}", kind)
