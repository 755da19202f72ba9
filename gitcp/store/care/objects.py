"""Checks of the objects behind gitcp's refs: none is missing, and none holds a secret."""

from __future__ import annotations

import os
import re

from gitcp.console import progress
from gitcp.core.git.ids import CHECKPOINTS, parse_checkpoint_ref
from gitcp.core.render.spans import count_noun
from gitcp.core.upkeep.findings import make_finding
from gitcp.errors import GitError
from gitcp.record import decode_lines, encode_lines
from gitcp.store.git import notes, partial
from gitcp.store.journal import edits_ref
from gitcp.store.pack import kept
from gitcp.store.repair import packs
from gitcp.store.repair.missing import WALK, list_lacking
from gitcp.store.repair.streams import is_stream
from gitcp.store.share import push_check, withheld
from gitcp.store.v1 import committed_refs, redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Finding
    from gitcp.store.care.case import Case
    from gitcp.store.care.survey import Survey

_SHARED = ("/entire/checkpoints/v1", "/entire/sessions", notes.REF)
# Files with the text of a conversation, in a session's directory on v1 and on a stream.
_TRANSCRIPTS = re.compile(
    r"(?:[0-9a-f]{2}/[0-9a-f]{10}/|\.entire/metadata/[^/]+/)"
    r"(?:.*/)?(?:full\.(?:jsonl|log)[.\d]*|prompt\.txt|context\.md|summary\.txt|agent-.*\.jsonl)"
)


def look_at_packs(case: Case) -> Iterator[Finding]:
    """Check that git can open gitcp's packs."""
    folder = kept.locate_folder(case.repo)
    for path in (os.path.join(folder, name) for name in kept.list_packs(case.repo)):
        if fault := packs.find_fault(case.repo, path):
            yield make_finding("bad-pack", path, fault)


def look_at_objects(case: Case) -> Iterator[Finding]:
    """Check the refs, then the objects behind them and behind those of remotes.

    Refs that lack objects are reported first, so that the caller may repair each at once.
    """
    survey = case.survey
    extra = [ref for ref in case.sources if ref not in {*survey.refs, CHECKPOINTS}]
    names = list(survey.refs)
    missing = _list_missing(survey, [*names, *extra])
    if missing is None or missing or survey.list_missing():
        lame = {}
        for ref in sorted(names, key=_rank_ref):
            if (code := _choose_code(ref)) and (gone := list_lacking(case.repo, ref)):
                lame[ref] = code
                yield make_finding(code, ref, f"lacks {count_noun(len(gone), 'object')}")
        survey.objects.forget()
        survey.read_refs()
        names = [ref for ref in survey.refs if ref not in lame]
        missing = _list_missing(survey, [*names, *extra])
    yield from _check_refs(survey, names)
    if missing is None:
        yield make_finding("missing-object", "history", "a commit of it is missing")
        return
    for oid in missing:
        yield make_finding("missing-object", oid, "a ref of gitcp needs it", oid=oid)
    if case.secrets:
        yield from _find_secrets(survey, [*names, *extra])


def _choose_code(ref: str) -> str:
    """The code of the finding on a ref that lacks objects, '' if it cannot be mended."""
    if ref == committed_refs.REF or parse_checkpoint_ref(ref):
        return "broken-store"
    if ref.startswith(edits_ref.PREFIX):
        return "broken-edits"
    return "broken-stream" if is_stream(ref) else ""


def _rank_ref(ref: str) -> int:
    """The order in which refs are checked: objects written for a stream may mend the others."""
    return ("broken-stream", "broken-edits", "broken-store", "").index(_choose_code(ref))


def _check_refs(survey: Survey, refs_here: Sequence[str]) -> Iterator[Finding]:
    for ref in refs_here:
        oid = survey.refs[ref]
        answer = survey.objects.read(oid)
        if answer is None:
            yield make_finding("bad-ref", ref, f"its commit '{oid}' is missing", oid=oid)
        elif answer[1] != "commit":
            yield make_finding("bad-ref", ref, f"it is at a {answer[1]}", oid=oid)


def _list_missing(survey: Survey, refs_here: Sequence[str]) -> list[str] | None:
    """The missing objects that the refs need; None if a commit inside a history is missing."""
    present = _list_present(survey, refs_here)
    if not present:
        return []
    try:
        _, out = survey.repo.git.run(*WALK, "--stdin", stdin=encode_lines(present))
    except GitError:
        return None
    missing = [line.removeprefix("?") for line in decode_lines(out)]
    lost = partial.list_unpromised(survey.repo, present, set(missing))
    return [oid for oid in missing if oid in lost]


def _list_present(survey: Survey, refs_here: Sequence[str]) -> list[str]:
    """The refs whose object exists."""
    gone = set(survey.list_missing())
    return [name for name in refs_here if name not in gone]


def look_at_withheld(case: Case) -> Iterator[Finding]:
    """Report what the last pushes held back."""
    for held in withheld.list_held(case.repo, case.objects):
        reason, remedy = withheld.describe(held), withheld.describe_remedy(held)
        yield make_finding("withheld", held[0], f"not pushed: {reason}", remedy=remedy)


def _find_secrets(survey: Survey, refs_here: Sequence[str]) -> Iterator[Finding]:
    """The secrets in the store, as a push finds them, and in the conversations of streams."""
    repo, objects, here = survey.repo, survey.objects, _list_present(survey, refs_here)
    if not redaction.can_read_rules(repo):
        return
    stored = [ref for ref in here if ref.endswith(_SHARED) or parse_checkpoint_ref(ref)]
    streams = [ref for ref in here if ref not in stored]
    progress.show_line("searching for secrets")
    hits = {item[0]: item for item in push_check.find_secrets(repo, objects, stored, ())}
    secrets = {oid: rule for oid, (_, _, rule) in hits.items()}
    for ref in stored if hits else ():
        for held in withheld.name_held(objects, ref, ref, secrets):
            if hits.pop(held[3], None):
                reason = f"{withheld.describe(held)}; {withheld.describe_remedy(held)}"
                yield make_finding("secret", held[0], reason, oid=held[3])
    rest = push_check.find_secrets(repo, objects, streams, (), selects=_TRANSCRIPTS.fullmatch)
    for oid, path, rule in (*hits.values(), *rest):
        yield make_finding("secret", path, f"{rule} in blob '{oid}'; {withheld.ALLOW}", oid=oid)
