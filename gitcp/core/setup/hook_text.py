"""Read an existing git hook: who wrote it, what it calls, and gitcp's part of it."""

from __future__ import annotations

import re

from gitcp.core.setup.hook_scripts import BACKUP, END, LEFTHOOK, MARKER, TOOLS, build_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.setup.hook_scripts import Chain

ENTIRE_BACKUP = ".pre-entire"
OWN = "/"  # stands for the suffix of the file that husky's hook calls
_LEGACY = ".legacy"  # pre-commit's
_ENTIRE_MARKER = "# Entire CLI hooks"
_HUSKY = '. "$(dirname "$0")/h"'
_QUOTED = r"'((?:[^']|'\\'')*)'"
_BAKED = re.compile(rf"^py={_QUOTED} (?:work|entry)={_QUOTED}$", re.M)
_NEXT = re.compile(r" next=\$\{0%/\*\}/[a-z-]+((?:\.[a-z-]+)+)$", re.M)
_CALL = re.compile(r" (\w+) -c '\. ")
_VERSION = re.compile(r"/python(\d+\.\d+)$")
_LIBRARY = re.compile(r"/lib/python(\d+\.\d+)/")
_SHELL = re.compile(r"#! ?/(?:usr/)?bin/(?:env )?(\w*sh)\b")


def choose_chain(hook: str) -> Chain:
    """How to call a hook that is renamed.  A shell script that reads its own name (husky) is
    sourced, so that its name stays the same."""
    shell = _SHELL.match(hook)
    by_name = "$0" in hook and any(sign in hook for sign in ("basename", "##*/", "husky", ")/h"))
    by = shell[1] if shell and by_name else ""
    return {"suffix": BACKUP, "shell": by, "lefthook": find_tool(hook) == "lefthook"}


def is_ours(text: str) -> bool:
    """Whether a hook file has gitcp's part, or the beginning of it."""
    return any(line == MARKER for line in text.splitlines())


def is_whole(text: str) -> bool:
    """Whether a hook file has gitcp's whole part."""
    return is_ours(text) and END in text.splitlines()


def is_entire_hook(text: str) -> bool:
    """Whether a hook file is the original program's (doc/formats.md "The original program")."""
    return _ENTIRE_MARKER in text.splitlines()


def find_tool(text: str) -> str:
    """The name of the tool that wrote a hook file; '' if unknown."""
    signs = zip(("pre-commit", "Entire", "lefthook", "husky"), (*TOOLS, _HUSKY), strict=True)
    return next((name for name, sign in signs if sign in text), "")


def parse_program(text: str) -> tuple[str, str] | None:
    """The interpreter and the entry file that gitcp's script starts; None for another script."""
    match = _BAKED.search(text) if is_ours(text) else None
    if match is None:
        return None
    py, work = (quoted.replace("'\\''", "'") for quoted in match.groups())
    return py, work.rpartition("/")[0] + "/entry.py"


def is_upgraded(py: str, entry: str) -> bool:
    """Whether an interpreter, links followed, has another version than the directory of entry."""
    version, home = _VERSION.search(py), _LIBRARY.search(entry)
    return bool(version and home and version[1] != home[1])


def is_same_tool(text: str, other: str) -> bool:
    """Whether two hook files are equal or written by the same tool."""
    return text == other or find_tool(text) == find_tool(other) != ""


def choose_suffix(hook: str, text: str) -> str:
    """The suffix for gitcp's script beside a hook of this text: mostly ''.

    pre-commit calls a `.legacy` beside its own hook, and overwrites that if it finds another hook
    in its place.  It does not pass git's input on to a post-rewrite.
    """
    return _LEGACY if TOOLS[0] in text and hook != "post-rewrite" else ""


def is_called(hook: str, text: str, suffix: str) -> bool:
    """Whether a tool's hook calls the file beside it with that suffix."""
    return suffix != "" and (hook + suffix in text or (suffix == _LEGACY and TOOLS[0] in text))


def is_ours_called(hook: str, text: str, beside: dict[str, str]) -> bool:
    """Whether a hook runs gitcp: by gitcp's script, one that calls it, or an added line.

    beside: suffix -> text of the files in the hooks directory with the hook's name and a suffix;
    under OWN the file that husky's hook calls.
    """
    called = [suffix for suffix in beside if suffix and hook + suffix in text]
    texts = [text, *(beside.get(s, "") for s in [*called, choose_suffix(hook, text), OWN])]
    lines = (f"gitcp-hook {hook}", f"gitcp hook {hook}")
    return any(is_whole(script) or any(line in script for line in lines) for script in texts)


def parse_chain(text: str) -> Chain | None:
    """The file that gitcp's script calls; None for a script that gitcp does not write."""
    next_hook, call = _NEXT.search(text), _CALL.search(text)
    if next_hook is None:
        return None
    by = call[1] if call else ""
    return {"suffix": next_hook[1], "shell": by, "lefthook": LEFTHOOK in text}


def is_untouched(hook: str, text: str) -> bool:
    """Whether gitcp's script is as this version writes it, with any paths."""
    program, chain = parse_program(text), parse_chain(text)
    return bool(program and chain and text == build_script(hook, *program, chain))


def remove_ours(hook: str, text: str, chained: bool) -> str | None:
    """A hook that others changed, without gitcp's lines; None if it has no other line.

    chained: the former hook is still beside it; a line that calls it takes the place of gitcp's.
    """
    before, start, ours_and_after = text.partition(MARKER + "\n")
    _, end, after = ours_and_after.partition(END + "\n")
    if not start or not end:
        return text
    if not (before + after).replace("#!/bin/sh", "").strip():
        return None
    chain, line = parse_chain(text), ""
    if chained and chain:
        path = '"${0%/*}"/' + hook + chain["suffix"]
        line = f'[ ! -x {path} ] || {path} "$@" || exit $?\n'
    return before + line + after
