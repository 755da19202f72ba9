"""The authors of the lines that a patch adds, by the blob of each file in it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

from gitcp.checkpoints.format import line_authors
from gitcp.errors import Error
from gitcp.git import decode_name, encode_name
from gitcp.lines import blame_options, porcelain, uncommitted
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from gitcp.record import journal
from gitcp.record.journal import credit
from gitcp.text import line_evidence, line_replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.objects.patches import Change
    from gitcp.git.repo import Repo
    from gitcp.lines.patch_text import PatchPart
    from gitcp.lines.porcelain import BlameEntry
    from gitcp.text.line_replay import Version

_SPANS = 500  # ranges that git blame gets; of more lines it is asked for the whole file
_ZEROS = "0" * 40


@dataclass(slots=True)
class AddedLine:
    """A line that a patch adds.

    name: of its author as git has it.  commit: that added it, zeros for none; path, original_line:
    where it was there.  time: in seconds since 1970, None if it is not known.
    """

    author: Author
    name: str
    commit: str
    path: str
    original_line: int
    time: int | None


class PatchAuthors:
    """Finds the authors of the lines that the parts of a patch add."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._evidence = Evidence(repo)

    def find(self, parts: Sequence[PatchPart]) -> list[dict[int, AddedLine] | None]:
        """For each part the added lines by number; None if nothing is known of its content."""
        found: list[dict[int, AddedLine] | None] = [None] * len(parts)
        holders = self._find_commits(parts)
        changes = self._read_changes({oid for oid in holders if oid})
        self._evidence.prefetch_changes([change for change in changes.values() if change])
        for n, part in enumerate(parts):
            if not part.list_added():
                continue
            change = changes.get(holders[n])
            if change:
                found[n] = self._read_committed(part, change)
            else:
                found[n] = self._find_by_content(part, holders[n])
        self._evidence.forget()
        return found

    def _find_commits(self, parts: Sequence[PatchPart]) -> list[str]:
        """For each part the commit (full oid) that it names, if that has its content; else ''."""
        specs = []
        for part in parts:
            if part.commit and part.list_added():
                specs += [f"{part.commit}^{{commit}}", f"{part.commit}:{part.path}"]
        oids = self._repo.objects.ahead.resolve(specs)
        found = []
        for part in parts:
            commit = oids.get(f"{part.commit}^{{commit}}")
            blob = oids.get(f"{part.commit}:{part.path}")
            is_holder = commit and blob and blob.startswith(part.new)
            found.append(str(commit) if is_holder else "")
        return found

    def _read_changes(self, commits: set[str]) -> dict[str, Change | None]:
        """The changes of commits; None for a merge, of which git log has none."""
        if not commits:
            return {}
        listed = "\n".join(sorted(commits)).encode() + b"\n"
        changes: dict[str, Change | None] = {}
        for change in history.read_changes(self._repo, ("--no-walk=unsorted", "--stdin"), listed):
            is_merge = len(change["parents"]) > 1
            changes[change["oid"]] = None if is_merge else change
        return changes

    def _read_committed(self, part: PatchPart, change: Change) -> dict[int, AddedLine]:
        """The lines that a commit added.  By other options of diff a patch may call other lines
        added than these: of them nothing is said."""
        name, _, seconds = change["author"].rpartition(" ")
        name = name.rpartition(" <")[0]
        own = set[int]()
        for patch in change["patches"]:
            if patch["path"] == part.path:
                own.update(line_authors.list_new_lines(patch["hunks"]))
        lines = {}
        for number in part.list_added():
            if number in own:
                author = self._evidence.find_author(change["oid"], part.path, number)
                lines[number] = AddedLine(
                    author, name, change["oid"], part.path, number, int(seconds)
                )
        return lines

    def _find_by_content(self, part: PatchPart, commit: str) -> dict[int, AddedLine] | None:
        """The added lines by where a file has this content: in a commit, or in the worktree, the
        index or the journal, whose lines may not be committed."""
        if commit:
            return self._blame(part, commit)
        content = self._find_uncommitted(part)
        if content:
            return self._credit_content(part, content)
        commit = self._find_holder(part)
        return self._blame(part, commit) if commit else None

    def _find_uncommitted(self, part: PatchPart) -> Version | None:
        """The content of a file in the worktree, in the index or by the journal; None if HEAD has
        it, too, or none of them has it."""
        objects = self._repo.objects
        path = part.path
        specs = f"HEAD:{path}", f":{path}"
        named = objects.ahead.resolve(specs)
        committed = named[specs[0]]
        if committed and committed.startswith(part.new):
            return None
        content = None
        if self._repo.top:
            content = uncommitted.read_content(self._repo, path)
        if content and content.oid.startswith(part.new):
            return content
        oids = [named[specs[1]]]
        for line in credit.list_edits(journal.read_journal(self._repo)):
            if line.path == path:
                oids += [entry[1] for entry in (line.before, line.after) if entry]
        for oid in oids:
            if oid and oid.startswith(part.new):
                data = objects.read_blob(oid)
                if data is not None:
                    return line_replay.Version(oid, line_evidence.split_text_lines(oid, data))
        return None

    def _find_holder(self, part: PatchPart) -> str:
        """A commit in which a path has the content; '' for none."""
        spec = f"HEAD:{part.path}"
        oid = self._repo.objects.ahead.resolve([spec])[spec]
        if oid and oid.startswith(part.new):
            return "HEAD"
        blob = self._repo.objects.ahead.resolve([part.new])[part.new]
        if not blob:
            return ""
        ask = ("log", "-1", "--all", "--no-renames", "--raw", "--no-abbrev", "--format=%H")
        git = self._repo.git.copy_with(None, {"GIT_LITERAL_PATHSPECS": "0"})
        rows = git.read_records(
            *ask,
            f"--find-object={blob}",
            "--",
            encode_name(f":(top,literal){part.path}"),
            sep=b"\n",
        )
        rows = [row for row in rows if row]
        if len(rows) < 2:
            return ""
        commit = decode_name(rows[0])
        is_new = rows[1].split(b" ")[3] == blob.encode()
        return commit if is_new else f"{commit}^"

    def _credit_content(self, part: PatchPart, content: Version) -> dict[int, AddedLine]:
        """The added lines of a content that is not committed: of a line that HEAD has, git says
        from which commit it is."""
        credited = self._evidence.credit_content(part.path, content)
        name = self._repo.config.get("user.name") or "you"
        lines = self._blame(part, "HEAD", content.oid) or {}
        for number in part.list_added():
            if number not in lines:
                author = credited.authors.get(number) or line_authors.build_nobody("person")
                at = credited.times.get(number, 0) // 10**9 or None
                lines[number] = AddedLine(author, name, _ZEROS, part.path, number, at)
        return lines

    def _blame(self, part: PatchPart, commit: str, blob: str = "") -> dict[int, AddedLine] | None:
        """The added lines that commits have, by git blame; None if git cannot tell.

        blob: a content to blame in the place of the commit's."""
        numbers = part.list_added()
        spans = line_evidence.group_runs(numbers)
        if len(spans) > _SPANS:
            spans = []
        with tempfile.NamedTemporaryFile(prefix="gitcp-") as file:
            words = [f"-L{first},{last}" for first, last in spans]
            if blob:
                file.write(self._repo.objects.need(blob, "blob"))
                file.flush()
                words += ["--contents", file.name]
            options = blame_options.parse_arguments([*words, commit, "--", part.path])
            try:
                entries = history.start_blame(self._repo.git, options)()
            except Error:
                return None
        wanted = set(numbers)
        entries = [
            entry
            for entry in porcelain.complete_entries(entries)
            if entry.final in wanted and entry.is_committed
        ]
        self._evidence.prefetch(entries, contents=True)
        return {entry.final: self._build_line(entry) for entry in entries}

    def _build_line(self, entry: BlameEntry) -> AddedLine:
        place = entry.oid, entry.path, entry.orig
        author = self._evidence.find_author(*place, entry.content)
        name = decode_name(dict(entry.headers).get(b"author", b""))
        return AddedLine(author, name, *place, self._evidence.find_time(entry, author))
