"""Checks of the objects behind gitcp's refs: none is missing, and none holds a secret."""

from __future__ import annotations

import os
import re

from gitcp.checkpoints import notes, redactor
from gitcp.checkpoints.share import remote
from gitcp.errors import GitError
from gitcp.git import files, refs
from gitcp.git.objects import cat_file
from gitcp.git.records import decode_lines, encode_lines
from gitcp.setup.care import mend_objects, mend_streams
from gitcp.setup.care.findings import Finding
from gitcp.setup.care.mend_objects import LOCK_AGE, WALK, list_lacking
from gitcp.setup.care.space import OURS
from gitcp.text import ids, term
from gitcp.text.ids import CHECKPOINTS, parse_checkpoint_ref
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.setup.care.case import Case, Survey


_SHARED = ("/entire/checkpoints/v1", "/entire/sessions", notes.REF)
# Refs that lack objects are checked in this order: objects written for a stream may mend others.
_ORDER = ("broken-stream", "broken-edits", "broken-store", "")
# Files with the text of a conversation, in a session's directory on v1 and on a stream.
_TRANSCRIPTS = re.compile(
    r"(?:[0-9a-f]{2}/[0-9a-f]{10}/|\.entire/metadata/[^/]+/)"
    r"(?:.*/)?(?:full\.(?:jsonl|log)[.\d]*|prompt\.txt|context\.md|summary\.txt|agent-.*\.jsonl)"
)


def look_at_loose(case: Case) -> Iterator[Finding]:
    """Find the empty object files that a power cut leaves: git takes none of them for missing."""
    for path in mend_objects.list_empty_objects(case.repo):
        yield Finding("empty-object", path, "git cannot read it, nor write the object again")


def look_at_objects(case: Case) -> Iterator[Finding]:
    """Check the refs, then the objects behind them and behind those of remotes.

    Refs that lack objects are reported first, so that the caller may repair each at once.
    """
    survey = case.survey
    own = {*survey.refs, CHECKPOINTS}
    extra = [ref for ref in case.sources if ref not in own]
    names = list(survey.refs)
    missing = _list_missing_objects(survey, [*names, *extra])
    if missing is None or missing or survey.list_broken_refs():
        lame: set[str] = set()
        for ref in sorted(names, key=lambda ref: _ORDER.index(_choose_code(ref))):
            code = _choose_code(ref)
            if not code:
                continue
            gone = list_lacking(case.repo, ref)
            if gone:
                lame.add(ref)
                yield Finding(code, ref, f"lacks {count_noun(len(gone), 'object')}")
        survey.repo.objects.ahead.forget()
        survey = case.renew_survey()
        names = [ref for ref in survey.refs if ref not in lame]
        missing = _list_missing_objects(survey, [*names, *extra])
    yield from _check_refs(survey, names)
    if missing is None:
        yield Finding("missing-object", "history", "a commit of gitcp's history is missing")
        return
    for oid in missing:
        yield Finding("missing-object", oid, "a ref of gitcp needs it", oid=oid)
    if case.secrets:
        yield from _find_secrets(survey, [*names, *extra])


def _choose_code(ref: str) -> str:
    """The code of the finding on a ref that lacks objects, '' if it cannot be mended."""
    if ref == refs.REF or parse_checkpoint_ref(ref):
        return "broken-store"
    if ref.startswith(ids.EDITS):
        return "broken-edits"
    if mend_streams.is_stream(ref):
        return "broken-stream"
    return ""


def _check_refs(survey: Survey, refs_here: Sequence[str]) -> Iterator[Finding]:
    for ref in refs_here:
        oid = survey.refs[ref]
        answer = survey.repo.objects.read(oid)
        if answer is None:
            yield Finding("bad-ref", ref, f"its commit '{oid}' is missing", oid=oid)
        elif answer[1] != "commit":
            yield Finding("bad-ref", ref, f"it is at a {answer[1]}", oid=oid)


def _list_missing_objects(survey: Survey, refs_here: Sequence[str]) -> list[str] | None:
    """The missing objects that the refs need; None if a commit inside a history is missing."""
    present = _list_present(survey, refs_here)
    if not present:
        return []
    try:
        _, out = survey.repo.git.run(*WALK, "--stdin", stdin=encode_lines(present))
    except GitError:
        return None
    missing = [line.removeprefix("?") for line in decode_lines(out)]
    lost = cat_file.list_unpromised(survey.repo, present, set(missing))
    return [oid for oid in missing if oid in lost]


def _list_present(survey: Survey, refs_here: Sequence[str]) -> list[str]:
    """The refs whose object exists."""
    gone = set(survey.list_broken_refs())
    return [name for name in refs_here if name not in gone]


def _find_secrets(survey: Survey, refs_here: Sequence[str]) -> Iterator[Finding]:
    """The secrets in the store, as a push finds them, and in the conversations of streams."""
    repo = survey.repo
    here = _list_present(survey, refs_here)
    if not redactor.can_read_rules(repo):
        return
    stored = [ref for ref in here if _is_stored(ref)]
    streams = [ref for ref in here if ref not in stored]
    term.show_line("searching for secrets")
    hits = {item[0]: item for item in remote.find_secrets(repo, stored, ())}
    secrets = {oid: rule for oid, (_, _, rule) in hits.items()}
    if hits:
        for ref in stored:
            for held in remote.name_held(repo.objects, ref, ref, secrets):
                if hits.pop(held[3], None):
                    reason = f"{remote.describe(held)}; {remote.describe_remedy(held)}"
                    yield Finding("secret", held[0], reason, oid=held[3])
    rest = remote.find_secrets(repo, streams, (), selects=_TRANSCRIPTS.fullmatch)
    for oid, path, rule in (*hits.values(), *rest):
        yield Finding("secret", path, f"{rule} in blob '{oid}'; {remote.ALLOW}", oid=oid)


def _is_stored(ref: str) -> bool:
    """Whether a ref is of the permanent store, here or of a remote."""
    return ref.endswith(_SHARED) or bool(parse_checkpoint_ref(ref))


def look_at_refs(case: Case) -> Iterator[Finding]:
    """Check that git can read gitcp's refs, and look for locks left behind."""
    survey = case.survey
    common = case.repo.common
    for start in OURS:
        logs = os.path.join(common, "logs")
        for path in _list_files(os.path.join(logs, start)):
            ref = os.path.relpath(path, logs)
            place = os.path.join(common, ref)
            if ref not in survey.refs and (os.path.isdir(place) or not os.path.lexists(place)):
                yield Finding("bad-ref", ref, "the ref is gone, but its reflog is still there")
                survey = case.renew_survey()
        for path in _list_files(os.path.join(common, start)):
            ref = os.path.relpath(path, common)
            if not path.endswith(".lock"):
                if ref not in survey.refs:
                    yield Finding("bad-ref", ref, "git cannot read it")
                    survey = case.renew_survey()  # the caller may have repaired it
            elif files.is_older(path, LOCK_AGE):
                yield Finding("lock", path, "it was not released for a minute")


def _list_files(path: str) -> Iterator[str]:
    """Yield the path above path, path and its lock, as far as they exist and are no directories;
    then every file below path."""
    for place in (os.path.dirname(path), path, f"{path}.lock"):
        if os.path.lexists(place) and not os.path.isdir(place):
            yield place
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in sorted(names))
