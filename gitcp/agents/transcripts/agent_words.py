"""Parse patches of apply_patch (doc/clients.md "Codex"), and apply edits."""

from __future__ import annotations

import posixpath
import re
from functools import partial
from itertools import takewhile
from operator import ne

from gitcp.agents.transcripts import shell_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import AnyStr

    from gitcp.agents.transcripts import Change

OLD = ("old_string", "old_str", "oldString")  # keys of what an edit replaces
CREATED = "File created"  # the start of a tool's answer when it created a file
PATCH = "*** Begin Patch"
_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


# One of these is in each of the above, as a transcript spells it.
EDIT_MARKS = (b"old_str", b"oldString", b"File created", b"*** Begin Patch")


def may_have_edit(transcript: bytes) -> bool:
    """Whether a call in a transcript may have edited or created a file in words that tell what it
    wrote."""
    return any(mark in transcript for mark in EDIT_MARKS)


def list_paths(text: str) -> list[str]:
    """The paths that the patches in text add, change, delete or move to, each once, as written.

    text is a patch, or a shell command with patches in here-documents.
    """
    headers = (line for line in _list_patch_lines(text) if line.startswith(_HEADERS))
    return list(dict.fromkeys(line.partition(": ")[2].strip() for line in headers))


def parse_hunks(text: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield (path, replaced lines, new lines) of each hunk of the patches in text; for an added
    file (path, None, content)."""
    path = ""
    added = False
    old: list[str] = []
    new: list[str] = []
    for line in [*_list_patch_lines(text), "@@"]:
        if not line.startswith(("@@", "*** ")):
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
            continue
        if path and (old or new):
            yield path, None if added else _join_lines(old), _join_lines(new)
        old = []
        new = []
        if line.startswith(_HEADERS[:3]):
            path = line.partition(": ")[2].strip()
            added = line.startswith(_HEADERS[0])


def _list_patch_lines(text: str) -> Iterator[str]:
    """Yield the lines of the patches in text, without the first and the last line of each."""
    inside = False
    for line in text.split("\n"):
        if PATCH in line:  # in a command a quotation mark may precede it
            inside = True
        elif line.startswith("*** End Patch"):
            inside = False
        elif inside:
            yield line


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def parse_edits(diff: str) -> list[list[str | bool]]:
    """[replaced lines, new lines, False] of each hunk."""
    hunks: list[list[str | bool]] = []
    old: list[str] = []
    new: list[str] = []
    inside = False
    kind = ""
    for line in [*diff.removesuffix("\n").split("\n"), "@@"]:
        if line.startswith("@@"):
            if old or new:
                hunks.append(["".join(old), "".join(new), False])
            old = []
            new = []
            inside = True
        elif inside and line.startswith("\\"):  # no newline at the end of the line above
            for side, without in ((old, "+"), (new, "-")):
                if side and kind != without:
                    side[-1] = side[-1].removesuffix("\n")
        elif inside:
            kind = line[:1]
            old += [] if kind == "+" else [line[1:] + "\n"]
            new += [] if kind == "-" else [line[1:] + "\n"]
    return hunks


def apply_edits(
    edits: Iterable[tuple[AnyStr, AnyStr, bool]], content: AnyStr, trusted: bool = False
) -> AnyStr | None:
    """The content after edits; None if one does not apply, or, unless trusted, is for one place and
    applies to several."""
    for old, new, everywhere in edits:
        count = content.count(old) if old else 0
        if not count or (count > 1 and not everywhere and not trusted):
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content


# Derive from the words of a shell command which contents it writes itself, as by `echo x >file`.
#
# Output that a command computes, copies or fetches is not derived.
_HERE = r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2"
_ELSE = ("if", "for", "while", "until", "case", "function", "then", "do", "{", "}")
_HARMLESS = ("add", "commit", "status", "diff", "log")
_SILENT = "cd mkdir touch chmod rm mv cp".split()
_SILENT_CALLS = (["sed", "-i"], ["git", "add"])
_MARK = "\0here%d\0"


def find_written(command: str) -> Iterator[tuple[str, str]]:
    """Yield (path, content) of each file that a command writes by a here-document or `echo`; none
    for a command with branches."""
    if ">" not in command or "||" in command:
        return
    text, documents = _take_documents(command)
    folder = ""
    try:
        calls = list(shell_words.split_calls(text))
    except ValueError:  # a quotation that does not end
        return
    for call in calls:
        if call and call[0] in _ELSE:
            return
        if call[:1] == ["cd"] and len(call) == 2:
            folder = posixpath.join(folder, call[1])
        elif (written := _parse_write(call, documents)) and "$" not in folder + written[0]:
            yield posixpath.join(folder, written[0]), written[1]


def _take_documents(command: str) -> tuple[str, dict[str, str]]:
    """The command with a mark for each of its here-documents, and the documents by mark."""
    documents: dict[str, str] = {}
    lines = iter(command.split("\n"))
    calls = list[str]()
    for line in lines:
        call = line
        for start in re.finditer(_HERE, line):
            texts = (text.lstrip("\t") if start[1] else text for text in lines)
            mark = _MARK % len(documents)
            body = takewhile(partial(ne, start[3]), texts)
            documents[mark] = "".join(f"{text}\n" for text in body)
            call = call.replace(start[0], f"< {mark}", 1)
        calls.append(call)
    return "\n".join(calls), documents


def _parse_write(call: list[str], documents: dict[str, str]) -> tuple[str, str] | None:
    """(path, content) of a call that writes a file by a here-document or `echo`; else None."""
    words = list[str]()
    ends = dict[str, str]()
    words_left = iter(call)
    for word in words_left:
        if word in (">", ">|", "<"):
            ends[word[0]] = next(words_left, "")
        elif set(word) <= set("<>&|"):
            return None
        else:
            words.append(word)
    path = ends.get(">", "")
    document = documents.get(ends.get("<", ""))
    if words[:1] == ["tee"] and len(words) == 2 and not path:
        if document is not None:
            return (words[1], document)
        return None
    if not path or path.startswith("/dev/"):
        return None
    if words == ["cat"] and document is not None:
        return path, document
    if words[:1] == ["echo"] and "<" not in ends and not any("$" in word for word in words):
        return path, " ".join(words[1:]) + "\n"
    return None


def keep_own(changes: Iterable[Change], command: str) -> Iterator[Change]:
    """Yield a command's changes, as its client reports them, whose added lines are all words of the
    command; of other changes only a whole content.  Nothing if git may have brought lines in."""
    for path, tells in () if may_bring_lines(command) else changes:
        edits = tells.get("edits", ())
        before = {line for old, *_ in edits for line in old.split("\n")}
        lines = [line for _, new, _ in edits for line in new.split("\n") if line not in before]
        lines += tells.get("content", "").split("\n")
        if all(line.strip() in command for line in lines):
            yield path, tells
        elif "content" in tells:
            yield path, {"content": tells["content"]}


def may_bring_lines(command: str) -> bool:
    """Whether a command may bring in lines of commits, stashes or other clones."""
    try:
        calls = [call for call in shell_words.split_calls(command) if call[:1] in (["git"], ["jj"])]
    except ValueError:
        return True
    return any("".join(call[1:2]) not in _HARMLESS for call in calls)


def find_shown(command: str) -> str:
    """The path of the file whose whole content is a command's only output; '' if there is none."""
    try:
        *first, last = shell_words.split_calls(command)
    except ValueError:
        return ""
    if last[:1] != ["cat"] or len(last) != 2 or not all(map(_is_silent, first)):
        return ""
    folder = "".join(f"{call[1]}/" for call in first if call[0] == "cd" and len(call) == 2)
    if "$" in folder + last[1] or last[1] in _ELSE:
        return ""
    return folder + last[1]


def _is_silent(call: Sequence[str]) -> bool:
    return call[0] in _SILENT or ">" in call or ">>" in call or call[:2] in _SILENT_CALLS


# Derive which changes of a file a command made by its own words.
_MOST = 1000  # lines that are compared
_WORDS = r"\w+|\s+|[^\w\s]"


def take_own(before: str, after: str, command: str) -> str:
    """before, with the changes towards after that consist of the command's own words: whole lines,
    or the words in which a line differs from one that it replaces."""
    speech = command + "\n" + command.replace("\\n", "\n")
    old = before.split("\n")
    new = after.split("\n")
    head = len(posixpath.commonprefix([old, new]))
    tail = len(posixpath.commonprefix([old[head:][::-1], new[head:][::-1]]))
    result = old[:head]
    ends = old[len(old) - tail :]
    old = old[head : len(old) - tail]
    new = new[head : len(new) - tail]
    if max(len(old), len(new)) > _MOST:
        return before
    import difflib

    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, old_end, j, new_end in matcher.get_opcodes():
        removed = old[i:old_end]
        added = new[j:new_end]
        own = all(_has_words(speech, line) or _has_change(speech, removed, line) for line in added)
        result += added if kind in ("insert", "replace") and own else removed
    return "\n".join([*result, *ends])


def _has_change(speech: str, removed_lines: Iterable[str], line: str) -> bool:
    """Whether a line and a removed one differ only in words of the command."""
    words = re.findall(_WORDS, line)
    for other in removed_lines:
        before = re.findall(_WORDS, other)
        head = len(posixpath.commonprefix([before, words]))
        tail = len(posixpath.commonprefix([before[head:][::-1], words[head:][::-1]]))
        removed = "".join(before[head : len(before) - tail]).strip()
        added = "".join(words[head : len(words) - tail]).strip()
        if head + tail and added and _has_words(speech, added) and _has_words(speech, removed):
            return True
    return False


def _has_words(speech: str, text: str) -> bool:
    text = text.strip()
    return bool(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", speech))
