"""The lines that each prompt wrote in a commit: its tally, by prompt instead of by session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gitcp.checkpoints.format import line_authors
from gitcp.git.records import encode_lines
from gitcp.lines import exports, tally
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.repo import Repo
    from gitcp.lines.tally import CommitCounts, Tally


@dataclass(slots=True)
class PromptLines:
    """What a prompt wrote of a commit.

    number, prompt: as recorded, None and '' if they are not.  files: path -> lines of it that the
    commit adds.  deleted: paths.  checkpoints: the ids of those that tell it.
    """

    session_id: str
    turn_id: str
    number: int | None
    prompt: str
    files: dict[str, int] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    checkpoints: set[str] = field(default_factory=set)

    def build_turn(self) -> dict[str, object]:
        """The turn in `wrote` of a content (gitcp-record(5))."""
        return {
            "turn_id": self.turn_id,
            "number": self.number,
            "prompt": self.prompt,
            "files": self.files,
            "deleted": self.deleted,
        }


@dataclass(slots=True)
class CommitLines:
    """Whose the lines of a commit are.  prompts: in the order of sessions and numbers.  other: who
    wrote most of the lines that are no session's, or would have if it has none."""

    counts: Tally
    prompts: list[PromptLines]
    other: Author


def read_commits(repo: Repo, oids: Sequence[str]) -> dict[str, CommitLines]:
    """commit (full oid) -> whose its lines are; commits that are not here are left out.  What lacks
    is not told."""
    found: dict[str, CommitLines] = {}
    if not oids:
        return found
    evidence = Evidence(repo, revisions=oids)
    with console.Collected():
        chosen = "--no-walk=unsorted", "--stdin"
        changes = list(history.read_changes(repo, chosen, encode_lines(oids)))
        for commit in exports.describe_window(exports.describe_commit, evidence, changes):
            found[commit["oid"]] = _read_commit(commit)
    return found


def _read_commit(commit: CommitCounts) -> CommitLines:
    prompts: dict[tuple[str, int, str], PromptLines] = {}
    others: Counter[str] = Counter()  # word of WHO -> lines
    other_authors = {commit["unsaid"]["who"]: commit["unsaid"]}
    for patch in tally.list_patches(commit):
        path = patch["path"]
        known = commit["known"].get(path, {})
        for _, _, first, count in patch["hunks"]:
            for known_author, lines in line_authors.group_runs(known, first, count):
                author = known_author or commit["unsaid"]
                if author["who"] != "session":
                    others[author["who"]] += lines
                    other_authors[author["who"]] = author
                    continue
                key = author["session_id"], author["number"] or 0, author["turn_id"]
                if key not in prompts:
                    prompts[key] = _begin_prompt(author)
                files = prompts[key].files
                files[path] = files.get(path, 0) + lines
                prompts[key].checkpoints.add(author["checkpoint_id"])
    other = commit["unsaid"]
    for who, _ in others.most_common(1):
        other = other_authors[who]
    ordered = [prompts[key] for key in sorted(prompts)]
    return CommitLines(tally.count_commit(commit), ordered, other)


def _begin_prompt(author: Author) -> PromptLines:
    return PromptLines(author["session_id"], author["turn_id"], author["number"], author["prompt"])
