"""Findings for people: all that have one cause in one sentence, with their number and what helps.

The records, and `-v`, have the reason of each finding.
"""

from __future__ import annotations

from gitcp.setup.care.findings import ERROR
from gitcp.text import value_class
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.setup.care.findings import Diagnosis, Finding


@value_class
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
bad-journal
    notes of who changed what cannot be read
    notes of who changed what cannot be read
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
    a killed command left a file of its work behind
    killed commands left {n} files of their work behind
killed-command
    a killed command left its scratch directory
    {n} killed commands left their scratch directories
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
_WAY = "'gitcp doctor -v' shows each"


def list_causes(diagnoses: Iterable[Diagnosis], *, tried: bool = False) -> list[Cause]:
    """The causes of findings, worst first, else in the order of their first findings.

    tried: 'gitcp doctor --fix' was run."""
    groups: dict[str, list[Diagnosis]] = {}
    for each in diagnoses:
        groups.setdefault(identify_cause(each), []).append(each)
    if _OF_PARTS in groups:  # they name what the store as a whole lacks
        groups.pop(_OF_WHOLE, None)
    causes = [_describe_cause(listed, tried=tried) for listed in groups.values()]
    return sorted(causes, key=lambda cause: (cause.is_mended, not cause.is_error))


def identify_cause(diagnosis: Diagnosis) -> str:
    """What is the same in all findings of one cause."""
    if diagnosis.finding.kind in _SENTENCES:
        cause = _SENTENCES[diagnosis.finding.kind][1]
    else:
        cause = diagnosis.sentence
    if diagnosis.done:
        return f"mended: {cause}"
    return cause


def _describe_cause(listed: list[Diagnosis], *, tried: bool) -> Cause:
    first = listed[0]
    is_known = first.finding.kind in _SENTENCES
    if len(listed) > 1 and is_known:
        sentence = _SENTENCES[first.finding.kind][1].format(n=len(listed))
    elif is_known:
        sentence = _spell_one(first.finding)
        if first.failure:
            sentence += f"; not fixed: {first.failure}"
    else:
        sentence = first.build_record()["reason"].replace("\n", " ")
    remedies: dict[str, None] = {}
    for each in listed:
        remedies[each.done or each.spell_remedy(tried=tried)] = None
    remedy = _WAY
    if len(remedies) == 1:
        (remedy,) = remedies
    return Cause(sentence, remedy, first.severity == ERROR, bool(first.done))


def _spell_one(finding: Finding) -> str:
    return _SENTENCES[finding.kind][0].format(
        session=shorten_id(finding.subject),
        commit=abbreviate(finding.subject),
        branch=finding.subject.removeprefix("refs/heads/"),
        secret=finding.reason.partition(" has ")[2] or "a possible secret",
    )
