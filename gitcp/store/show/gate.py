"""A range held against the rules of the branch that it is to be merged into."""

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

    target: whose file has the rules; '' is what a range `<target>..<head>` begins with.  Raises
    Error where neither names it, for a file that cannot be read as rules, and for no revision.
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
    """In what the range adds to what it is merged into, and in its checkpoints."""
    ends = decode_lines(repo.git.run("rev-parse", "--revs-only", *revisions)[1])
    tips = [end for end in ends if not end.startswith("^")]
    known = [end[1:] for end in ends if end.startswith("^")]
    for path, kind in push_check.find_secrets(repo, objects, tips, known):
        yield gate.judge_secret(path, kind)
    stored = committed_refs.Places(repo, objects)
    trees = {name: place[1] for name in checkpoints if (place := stored.find_checkpoint(name))}
    if trees and any(push_check.find_secrets(repo, objects, trees.values(), ())):
        for name, tree in trees.items():
            for path, kind in push_check.find_secrets(repo, objects, [tree], ()):
                yield gate.judge_secret(f"checkpoint {name}: {path}", kind)
