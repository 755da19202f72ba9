"""Findings, what the table says of each, and what became of it: their records and their lines."""

from __future__ import annotations

from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.setup.care.case import Case
    from gitcp.text.record_types import Record

    Mend = Callable[[Case, "Finding"], str]  # returns what was done, '' for nothing

# error: a promise is broken.  warning: something is left over, or blocks work.  note: a variation
# of old data that every reader accepts, not a failure.
ERROR = "error"
WARNING = "warning"
NOTE = "note"
ENABLE = "enable"  # the fix of an installation
DOCTOR = "gitcp doctor --fix"
_FEW = 3  # findings of one cause that are shown one by one


@value_class
class Finding:
    """What a check has found: its code, the ref, path, session or object that it is about, and why.

    is_note: a note, whatever the table says, as of data that is older than the promise.  remedy: a
    command or a sentence, '' for that of the table.  has_mend: False if only a person can mend this
    one.  checkpoint_id, ref, oid, sessions: what else it is about.
    """

    kind: str
    subject: str
    reason: str
    is_note: bool = False
    remedy: str = ""
    has_mend: bool = True
    checkpoint_id: str = ""
    ref: str = ""
    oid: str = ""
    sessions: tuple[str, ...] = ()


@value_class
class Row:
    """A row of the table of findings.

    words: the meaning of the code, as gitcp-check-store(1) has it.  fix: the name of mend in the
    records of gitcp-doctor(1), '' if only a person can mend it.  remedy: what the person can do,
    a command or a sentence; of a finding that has a fix, what the fix does to it ("end it").
    choices: word -> another mend that the person may choose at a terminal.
    """

    code: str
    severity: str
    words: str
    fix: str = ""
    mend: Mend | None = None
    remedy: str = ""
    choices: Mapping[str, Mend] | None = None

    def get_remedy(self) -> str:
        """What helps; the repair where the row names nothing else."""
        if self.fix and not self.remedy:
            return "repair it"
        return self.remedy


@value_class
class Diagnosis:
    """A finding with its row of the table.

    done: what a mend did, '' for nothing; failure: why the mend that was tried did nothing."""

    row: Row
    finding: Finding
    done: str = ""
    failure: str = ""

    @property
    def severity(self) -> str:
        """ERROR, WARNING or NOTE."""
        if self.finding.is_note:
            return NOTE
        return self.row.severity

    @property
    def remedy(self) -> str:
        """What helps: a command, or a sentence; of what a mend is there for, what it does."""
        return self.finding.remedy or self.row.get_remedy()

    @property
    def fix(self) -> str:
        """The name of the mend; '' if a person has to do it."""
        remedy = self.finding.remedy
        if not self.finding.has_mend or "--force" in remedy:
            return ""
        if remedy and self.row.fix == ENABLE and not remedy.startswith("gitcp enable"):
            return ""
        return self.row.fix

    @property
    def sentence(self) -> str:
        """The reason, with the subject if the reason does not name it."""
        if self.finding.remedy:
            return self.finding.reason
        return f"{self.finding.subject}: {self.finding.reason}"

    def identify(self) -> str:
        """What is the same in two checks."""
        found = self.finding
        return f"{found.kind} {found.subject} {found.checkpoint_id}"

    def build_stored_record(self) -> Record:
        """The record `finding` (gitcp-record(5)) of gitcp-fsck(1)."""
        record = self._build_head(self._add_failure(self.finding.reason, "repaired"))
        if self.finding.remedy:
            record["remedy"] = self.finding.remedy
        if self.done:
            record["repaired"] = self.done
        return record

    def build_record(self) -> Record:
        """The record `finding` (gitcp-record(5)) of gitcp-doctor(1) and gitcp-status(1)."""
        record = self._build_head(self._add_failure(self.sentence, "fixed"))
        record["remedy"] = self.remedy
        record["fix"] = self.fix
        if self.done:
            record["fixed"] = self.done
        return record

    def _add_failure(self, reason: str, word: str) -> str:
        if not self.failure:
            return reason
        return f"{reason}; not {word}: {self.failure}"

    def _build_head(self, reason: str) -> Record:
        found = self.finding
        record: Record = {
            "type": "finding",
            "kind": found.kind,
            "severity": self.severity,
            "subject": found.subject,
            "reason": reason,
        }
        facts = {"checkpoint_id": found.checkpoint_id, "ref": found.ref, "oid": found.oid}
        record |= {name: value for name, value in facts.items() if value}
        if found.sessions:
            record["sessions"] = list(found.sessions)
        return record

    def spell_remedy(self, *, tried: bool = False) -> str:
        """What helps, for a person; tried: 'gitcp doctor --fix' was run."""
        return spell_remedy(self.remedy, self.fix, tried=tried)


def spell_remedy(remedy: str, fix: str, command: str = DOCTOR, *, tried: bool = False) -> str:
    """A remedy for a person: a quoted command, or a sentence; '' if nothing is left to try.

    fix: the name of the mend, '' without one; command: what mends; tried: it has been run.
    """
    if remedy.startswith("gitcp "):
        if tried and remedy == command:
            return ""
        return f"'{remedy}'"
    if not fix or remedy.startswith("'"):
        return remedy
    if tried:
        return ""
    verb, _, rest = remedy.partition(" ")
    ending = "es" if verb.endswith(("h", "s")) else "s"
    return f"'{command}' {verb}{ending} {rest}".rstrip()


def list_reasons(diagnoses: Iterable[Diagnosis], *, tried: bool = False) -> list[str]:
    """The reason of each finding and what helps.  tried: as for spell_remedy()."""
    told: list[Told] = []
    for each in diagnoses:
        remedy = each.done or each.spell_remedy(tried=tried)
        reason = each.build_record()["reason"]
        if each.finding.remedy:
            told.append(Told(reason, "", remedy))
        else:
            told.append(Told(each.row.words, reason, remedy))
    return group_lines(told, True) or ["nothing is wrong here"]


@value_class
class Told:
    """What is told of a finding.  place: where it is found, '' for what the cause says already;
    remedy: what helps, '' where nothing does."""

    cause: str
    place: str
    remedy: str


def group_lines(listed: Iterable[Told], everything: bool) -> list[str]:
    """The lines of findings, those of one cause together, in the order of the first of each.

    The places and the help stand indented below their cause; a cause without a place is one line.
    Of more than a few places only the first is left, with the number of the others; everything:
    all are left.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for told in listed:
        groups.setdefault((told.cause, told.remedy), []).append(told.place)
    lines: list[str] = []
    for (cause, remedy), found in groups.items():
        places = [place for place in found if place]
        if not places:
            lines.append(f"{cause}: {remedy}" if remedy else cause)
            continue
        visible = places
        if not everything and len(places) > _FEW:
            visible = places[:1]
        lines.append(cause)
        lines += [f"  {place}" for place in visible]
        left = len(places) - len(visible)
        if left:
            lines.append(f"  and {left} more")
        if remedy:
            lines.append(f"  {remedy}")
    return [line.replace("\n", " ") for line in lines]


def count_failures(diagnoses: Iterable[Diagnosis]) -> int:
    """The number of failures: findings that are neither notes nor mended."""
    failures = 0
    for each in diagnoses:
        if each.severity != NOTE and not each.done:
            failures += 1
    return failures
