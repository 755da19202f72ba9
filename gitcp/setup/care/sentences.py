"""Findings for people: all that have one cause in one sentence, with their number and what helps.

The records, and `-v`, have the reason of each finding.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.setup.care.findings import ERROR, format_remedy
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.text.record_types import Finding


@dataclass(slots=True)
class Cause:
    """Findings with one cause.  sentence: what is wrong; remedy: what helps, '' for nothing."""

    sentence: str
    remedy: str
    is_error: bool
    is_mended: bool = False


# Of a kind that says in its reason where it was found, and of one of which there may be many: its
# code, the sentence for one, and the sentence for several.  {session} and {commit} are the short id
# of the subject, {n} is the number, {branch} the subject as a branch, {secret} what a reason says
# of one.
_TABLE = """
bad-pack
    a pack of git's objects cannot be opened
    {n} packs of git's objects cannot be opened
unindexed-pack
    a pack of git's objects has no index
    {n} packs of git's objects have no index
empty-object
    an object of git is an empty file, as a power cut leaves it
    {n} objects of git are empty files, as a power cut leaves them
bad-ref
    a name by which gitcp keeps its data in git leads to nothing
    {n} names by which gitcp keeps its data in git lead to nothing
lock
    a lock file was left behind
    {n} lock files were left behind
broken-stream
    saved work of a session is not whole
    saved work of {n} sessions is not whole
broken-edits
    the edits of a session are not whole
    the edits of {n} sessions are not whole
broken-store
    conversations of commits are not whole
    conversations of commits are not whole
secret
    a possible secret is stored
    {n} possible secrets are stored
missing-object
    a conversation is not here, or not whole
    {n} conversations are not here, or not whole
bad-state lost-state old-state no-marker bad-marker
    what gitcp noted of session {session} cannot be used
    what gitcp noted of {n} sessions cannot be used
lost-stream
    saved work of a session is gone
    saved work of {n} sessions is gone
orphan-stream
    there is saved work of a session that is not known
    there is saved work of {n} sessions that are not known
not-a-stream
    a branch has a name that gitcp gives its own
    {n} branches have names that gitcp gives its own
leftover
    a killed command left something behind
    killed commands left {n} things behind
bad-summary bad-metadata bad-path bad-number
    what is stored of a commit is damaged
    what is stored of {n} commits is damaged
bad-chunk
    a conversation is stored with gaps
    {n} conversations are stored with gaps
bad-hash
    a conversation is not as it was stored
    {n} conversations are not as they were stored
dangling-trailer dangling-note
    the conversation of a commit is not here
    the conversations of {n} commits are not here
left-out
    what is stored of commit {commit} lacks a session
    what is stored of {n} commits lacks a session each
wrong-note
    commit {commit} names a session that did not write it
    {n} commits name sessions that did not write them
no-store
    commits have conversations, and none is here
    commits have conversations, and none is here
withheld
    a push leaves out {secret}
    a push leaves out {n} possible secrets
deleted-store
    branch '{branch}', which has the conversations, was deleted
    branches that have the conversations were deleted
dead-session
    session {session} stopped within a prompt
    {n} sessions stopped within a prompt
unread-transcript
    the conversation of session {session} cannot be read
    the conversations of {n} sessions cannot be read
provisional
    the conversation of session {session} is not whole yet
    the conversations of {n} sessions are not whole yet
lost-link
    commit {commit} lost its session
    {n} commits lost their sessions
"""


def _parse_table() -> dict[str, list[str]]:
    """code -> its two sentences."""
    sentences: dict[str, list[str]] = {}
    listed: list[str] = []
    for line in _TABLE.strip().splitlines():
        if line.startswith(" "):
            listed.append(line.strip())
            continue
        listed = []
        for code in line.split():
            sentences[code] = listed
    return sentences


_SENTENCES = _parse_table()
_OF_PARTS = _SENTENCES["missing-object"][1]
_OF_WHOLE = _SENTENCES["broken-store"][1]
_NOT_MENDED = "; not fixed: "
_WAY = "'gitcp doctor -v' shows each"


@dataclass(slots=True)
class _Found:
    """A finding.  remedy: what helps, or what was done."""

    kind: str
    subject: str
    reason: str
    remedy: str
    is_error: bool
    is_mended: bool

    def identify_cause(self) -> str:
        """What is the same in all findings of one cause."""
        if self.kind in _SENTENCES:
            cause = _SENTENCES[self.kind][1]
        else:
            cause = self.reason
        return f"mended: {cause}" if self.is_mended else cause

    def spell_alone(self) -> str:
        """The sentence for this one, and why it could not be mended if that was tried."""
        if self.kind not in _SENTENCES:
            return self.reason.replace("\n", " ")
        _, tried, why = self.reason.partition(_NOT_MENDED)
        return f"{self._spell()}{tried}{why}"

    def _spell(self) -> str:
        return _SENTENCES[self.kind][0].format(
            session=shorten_id(self.subject),
            commit=abbreviate(self.subject),
            branch=self.subject.removeprefix("refs/heads/"),
            secret=self.reason.partition(" has ")[2] or "a possible secret",
        )


def list_causes(findings: Iterable[Finding], *, tried: bool = False) -> list[Cause]:
    """The causes of findings, worst first, else in the order of their first findings.

    tried: 'gitcp doctor --fix' was run, and what it mended has the key fixed."""
    groups: dict[str, list[_Found]] = {}
    for finding in findings:
        found = _Found(
            str(finding["kind"]),
            str(finding["subject"]),
            str(finding["reason"]),
            str(finding.get("fixed") or format_remedy(finding, tried=tried)),
            finding["severity"] == ERROR,
            "fixed" in finding,
        )
        groups.setdefault(found.identify_cause(), []).append(found)
    if _OF_PARTS in groups:  # they name what the store as a whole lacks
        groups.pop(_OF_WHOLE, None)
    causes = [_describe_cause(listed) for listed in groups.values()]
    return sorted(causes, key=lambda cause: (cause.is_mended, not cause.is_error))


def _describe_cause(listed: list[_Found]) -> Cause:
    first = listed[0]
    sentence = first.spell_alone()
    if len(listed) > 1 and first.kind in _SENTENCES:
        sentence = _SENTENCES[first.kind][1].format(n=len(listed))
    remedies = dict.fromkeys(found.remedy for found in listed)
    remedy = first.remedy if len(remedies) == 1 else _WAY
    return Cause(sentence, remedy, first.is_error, first.is_mended)
