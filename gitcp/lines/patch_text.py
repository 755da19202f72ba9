"""Read the text of a patch as a stream: its files, their blobs, and the new lines of their hunks.

git's colours may stand in it.  What is no part of a hunk of one file with `index` line and prefixes
has no numbers: it is passed on as it came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gitcp.git import decode_name
from gitcp.git.objects.patches import unquote_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST = 10_000  # rows of a part; a longer patch of a file comes in several
_CODES = re.compile(rb"\x1b\[[0-9;]*[mK]")
_FIRST_CODES = re.compile(rb"(?:\x1b\[[0-9;]*[mK])*")
# A line between the patches of files that begins with the name of a commit, as git log prints it
# in its formats, also after `From` in a mail.
_COMMIT = re.compile(rb"(?:commit |From )?([0-9a-f]{7,64})(?: |$)")
_BLOBS = re.compile(rb"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: [0-7]{6})?")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SIDES = {b"+": (0, 1), b"-": (1, 0), b" ": (1, 1)}  # sign -> lines before and after
# The prefixes of the names before and after: git's own, those of diff.mnemonicPrefix, and -R.
_PAIRS = frozenset(("ab", "ba", "iw", "wi", "ci", "ic", "cw", "wc", "ow", "wo", "12", "21"))
_HEADERS = (b"old mode", b"new mode", b"deleted file", b"new file", b"similarity", b"rename ")
_MORE_HEADERS = (b"dissimilarity", b"copy ", b"index ", b"--- ", b"+++ ")


@dataclass(slots=True)
class PatchPart:
    """Rows of a patch, as they came.

    hunk_rows: index of a row of a hunk -> the number of the line that it adds, 0 if it adds none.
    commit: the name that a line before the patch gives, '' for none.  path: of the file after the
    change, '' if it is not known.  new: its blob, as short as git wrote it.
    """

    commit: str = ""
    path: str = ""
    new: str = ""
    rows: list[bytes] = field(default_factory=list)
    hunk_rows: dict[int, int] = field(default_factory=dict)

    def list_added(self) -> list[int]:
        """The numbers of the added lines."""
        return [number for number in self.hunk_rows.values() if number]


def split_patch(rows: Iterable[bytes]) -> Iterator[PatchPart]:
    """Yield the parts of a patch, as soon as each is whole.

    rows: the lines of the input, each with its newline.  A part has rows of one file at most.
    """
    reader = _Reader()
    for row in rows:
        done = reader.take(row)
        if done is not None:
            yield done
    yield reader.part


def strip_codes(row: bytes) -> bytes:
    """A row without git's colours; one that begins with none unchanged."""
    if row.startswith(b"\x1b["):
        return _CODES.sub(b"", row)
    return row


class _Reader:
    """The part that is being read.  before, after: lines that the hunk still lacks, 0 outside."""

    def __init__(self) -> None:
        self.part = PatchPart()
        self._in_header = False
        self._old_name = ""
        self._before = 0
        self._after = 0
        self._number = 0  # of the next line after the change

    def take(self, row: bytes) -> PatchPart | None:
        """Take a row; return the part that ended before it, None if it goes on."""
        if self._before or self._after:
            return self._take_hunk_row(row)
        plain = _CODES.sub(b"", row).rstrip(b"\r\n")
        hunk = _HUNK.match(plain)
        if hunk and self.part.path and self.part.new:
            self._begin_hunk(hunk)
            self.part.rows.append(row)
            return None
        if plain.startswith(b"diff --git "):
            done = self._begin(PatchPart(commit=self.part.commit))
            self._in_header = True
        elif self._in_header and plain.startswith(_HEADERS + _MORE_HEADERS):
            done = None
            self._read_header(plain)
        elif plain.startswith(b"\\ No newline"):
            done = None
        else:
            done = self._take_text(plain)
        self.part.rows.append(row)
        return done

    def _begin(self, part: PatchPart) -> PatchPart | None:
        done = self.part
        self.part = part
        self._old_name = ""
        return done if done.rows else None

    def _take_text(self, plain: bytes) -> PatchPart | None:
        """A row that belongs to no file: text around patches, or a form that is not read here."""
        done = None
        if self.part.path or self._in_header:
            done = self._begin(PatchPart(commit=self.part.commit))
        self._in_header = False
        commit = _COMMIT.match(plain)
        if commit:
            self.part.commit = commit[1].decode()
        return done

    def _read_header(self, plain: bytes) -> None:
        blobs = _BLOBS.fullmatch(plain)
        if blobs and blobs[2].strip(b"0"):
            self.part.new = blobs[2].decode()
        elif plain.startswith(b"--- "):
            self._old_name = _read_name(plain)
        elif plain.startswith(b"+++ "):
            self.part.path = _choose_path(self._old_name, _read_name(plain))

    def _begin_hunk(self, hunk: re.Match[bytes]) -> None:
        self._in_header = False
        before, first, after = hunk.groups()
        self._before = 1 if before is None else int(before)
        self._after = 1 if after is None else int(after)
        self._number = int(first)

    def _take_hunk_row(self, row: bytes) -> PatchPart | None:
        start = _FIRST_CODES.match(row)
        at = start.end() if start else 0
        sign = row[at : at + 1]
        if sign == b"\\":  # "\ No newline at end of file"
            return self._add(row)
        if sign in (b"\n", b"\r"):  # a blank line of context, of which a mail lost the space
            sign = b" "
        counts = _SIDES.get(sign)
        if counts is None or counts[0] > self._before or counts[1] > self._after:
            # Another form, such as --word-diff: the file is passed on.
            self.part.hunk_rows.clear()
            self._before = 0
            self._after = 0
            done = self._begin(PatchPart(commit=self.part.commit))
            self.part.rows.append(row)
            return done
        self._before -= counts[0]
        self._after -= counts[1]
        number = self._number if sign == b"+" else 0
        self._number += counts[1]
        return self._add(row, number)

    def _add(self, row: bytes, number: int = 0) -> PatchPart | None:
        """Add a row of a hunk, to a new part if this one is full."""
        done = None
        if len(self.part.rows) >= _MOST:
            old = self.part
            done = self._begin(PatchPart(old.commit, old.path, old.new))
        self.part.hunk_rows[len(self.part.rows)] = number
        self.part.rows.append(row)
        return done


def _read_name(plain: bytes) -> str:
    """The name in a line that begins with `--- ` or `+++ `."""
    name = plain[4:].removesuffix(b"\t")
    return decode_name(unquote_name(name))


def _choose_path(old: str, new: str) -> str:
    """The path of a file after the change; '' if it is deleted, or its name has no known prefix."""
    if new == "/dev/null":
        return ""
    prefix, slash, path = new.partition("/")
    before = old.partition("/")[0]
    if old == "/dev/null":
        is_known = prefix in {pair[1] for pair in _PAIRS}
    else:
        is_known = before + prefix in _PAIRS
    return path if slash and is_known else ""
