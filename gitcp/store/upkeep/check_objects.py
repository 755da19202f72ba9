"""What refs of ours need: every object is there, and none holds a secret."""

from __future__ import annotations

import re

from gitcp.core.upkeep.findings import finding
from gitcp.errors import GitError
from gitcp.record import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.upkeep.findings import Finding
    from gitcp.store.upkeep.survey import Survey

_WALK = ("rev-list", "--objects", "--missing=print", "--stdin")
# Files that hold what was said: of a session directory on v1, and of one on a stream.
_SAID = re.compile(
    r"(?:[0-9a-f]{2}/[0-9a-f]{10}/|\.entire/metadata/[^/]+/)"
    r"(?:.*/)?(?:full\.(?:jsonl|log)[.\d]*|prompt\.txt|context\.md|summary\.txt|agent-.*\.jsonl)"
)


def check(survey: Survey, extra: Sequence[str], secrets: bool) -> Iterator[Finding]:
    """The refs, then the objects behind them and behind extra, refs of remotes."""
    gone = survey.missing()
    for ref in gone:
        oid = survey.refs[ref]
        yield finding("missing-object", ref, f"its commit '{oid}' is missing", oid=oid)
    wanted = [ref for ref in survey.refs if ref not in gone]
    for ref in wanted:
        found = survey.objects.read(survey.refs[ref])
        if found and found[1] != "commit":
            yield finding("bad-ref", ref, f"it is at a {found[1]}", oid=found[0])
    if not wanted and not extra:
        return
    stdin = "".join(f"{name}\n" for name in [*wanted, *extra])
    try:
        _, out = survey.repo.git.run(*_WALK, stdin=stdin.encode("utf-8", "surrogateescape"))
    except GitError as e:  # git ends at a missing commit in the middle of a history
        why = e.said.removeprefix("fatal: ").partition("\n")[0]
        yield finding("missing-object", "history", why)
        return
    said = {}
    for line in text(out).splitlines():
        oid, _, path = line.partition(" ")
        if oid.startswith("?"):
            yield finding("missing-object", oid[1:], "a ref of ours needs it", oid=oid[1:])
        elif secrets and _SAID.fullmatch(path):
            said[oid] = path
    yield from _secrets(survey, said)


def _secrets(survey: Survey, said: dict[str, str]) -> Iterator[Finding]:
    from gitcp.store.v1 import redaction

    if not said:
        return
    redactor = redaction.redactor(survey.repo)
    for oid, path in said.items():
        data = survey.objects.need(oid, "blob")
        kind = "jsonl" if ".jsonl" in path else "text"
        found = [rule for rule, _, _ in redactor.find(data, kind)]
        if found:
            what = f"{len(found)} found by {', '.join(sorted(set(found)))}"
            yield finding("secret", path, f"{what} in blob '{oid}'", oid=oid)
