"""Derive from the words of a shell command which contents it writes itself, as by `echo x >file`.

Output that a command computes, copies or fetches is not derived.
"""

from __future__ import annotations

import posixpath
from functools import partial
from itertools import takewhile
from operator import ne

from gitcp.core.guard import discards
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    Change = tuple[str, dict[str, Any]]  # a path; what the client tells of it

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
        calls = list(discards.split_calls(text))
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
    lines, calls = iter(command.split("\n")), list[str]()
    for line in lines:
        call = line
        for start in stdlib.re.finditer(_HERE, line):
            texts = (text.lstrip("\t") if start[1] else text for text in lines)
            mark = _MARK % len(documents)
            body = takewhile(partial(ne, start[3]), texts)
            documents[mark] = "".join(f"{text}\n" for text in body)
            call = call.replace(start[0], f"< {mark}", 1)
        calls.append(call)
    return "\n".join(calls), documents


def _parse_write(call: list[str], documents: dict[str, str]) -> tuple[str, str] | None:
    """(path, content) of a call that writes a file by a here-document or `echo`; else None."""
    words, ends = list[str](), dict[str, str]()
    words_left = iter(call)
    for word in words_left:
        if word in (">", ">|", "<"):
            ends[word[0]] = next(words_left, "")
        elif set(word) <= set("<>&|"):
            return None
        else:
            words.append(word)
    path, document = ends.get(">", ""), documents.get(ends.get("<", ""))
    if words[:1] == ["tee"] and len(words) == 2 and not path:
        return (words[1], document) if document is not None else None
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
        calls = [call for call in discards.split_calls(command) if call[:1] in (["git"], ["jj"])]
    except ValueError:
        return True
    return any("".join(call[1:2]) not in _HARMLESS for call in calls)


def find_shown(command: str) -> str:
    """The path of the file whose whole content is a command's only output; '' if there is none."""
    try:
        *first, last = discards.split_calls(command)
    except ValueError:
        return ""
    if last[:1] != ["cat"] or len(last) != 2 or not all(map(_is_silent, first)):
        return ""
    folder = "".join(f"{call[1]}/" for call in first if call[0] == "cd" and len(call) == 2)
    return "" if "$" in folder + last[1] or last[1] in _ELSE else folder + last[1]


def _is_silent(call: Sequence[str]) -> bool:
    return call[0] in _SILENT or ">" in call or ">>" in call or call[:2] in _SILENT_CALLS
