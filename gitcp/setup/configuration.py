"""gitcp's configuration in a repository: its values, where they are set, and what is wrong."""

from __future__ import annotations

import os

from gitcp.errors import GitError, InputError, hide_passwords
from gitcp.git import config_table, places
from gitcp.git.config_table import AUTO
from gitcp.setup import config_check, guard_files
from gitcp.setup.care.findings import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.config_table import Key
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Record

    Origin = tuple[str, str, int]  # scope, file, line; 0 for an unknown line

_STRATEGY = "commit with jj, or 'git config gitcp.strategy manual-commit'"


def list_findings(repo: Repo) -> list[Finding]:
    """A finding for each wrong value or name.  git is asked for origins only if there are any."""
    findings = []
    for key, value, why in config_check.list_complaints(repo.config.read_values()):
        reason = f"'{key} = {value}' in {format_origin(find_origin(repo, key, value))}: {why}"
        remedy = f"set another value, or 'git config --unset {key}'"
        findings.append(Finding("config", key, reason, remedy=remedy))
    if repo.jj and guard_files.get_configured(repo) == AUTO:
        reason = "gitcp.strategy = auto-commit does not hold in jj: turns end with a checkpoint"
        findings.append(Finding("config", "gitcp.strategy", reason, remedy=_STRATEGY))
    return findings


def find_origin(repo: Repo, key: str, value: str) -> Origin:
    """The last place where a key is set to a value."""
    args = ("config", "-z", "--show-scope", "--show-origin", "--get-all", key)
    words = repo.git.run(*args, ok=(0, 1))[1].decode("utf-8", "surrogateescape").split("\0")
    last: Origin = ("", "", 0)
    for scope, source, text in zip(words[::3], words[1::3], words[2::3], strict=False):
        if text == value or not last[0]:
            file = ""
            if source.startswith("file:"):
                file = source.removeprefix("file:")
            last = scope, os.path.join(repo.top or repo.common, file) if file else "", 0
    if last[1]:
        return (last[0], last[1], _find_line(last[1], key, value))
    return last


def format_origin(where: Origin) -> str:
    """An origin as text: its file and line, or its scope."""
    scope, file, line = where
    if not file:
        if scope in ("", "command"):
            return f"the {scope or 'command'} line"
        return scope
    return f"{file}:{line}" if line else file


def _find_line(file: str, key: str, value: str) -> int:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as f:
            return config_check.find_line(f.read(), key, value)
    except OSError:
        return 0


def list_settings(repo: Repo, keys: Sequence[str] = ()) -> list[Record]:
    """A record of type setting for each key of the table, each value of a pipeline, and each
    unknown key that is set; keys: only for these.

    value: the value in force; text: what is set, '' for nothing, both without the passwords of
    URLs; origin: where it is set;
    complaint: what is wrong with it.
    """
    values = repo.config.read_values()
    wrong = {(key, text): why for key, text, why in config_check.list_complaints(values)}
    pipes = {key for key in values if key.startswith("gitcp.") and key.endswith(".pipeline")}
    besides = sorted(pipes | {key for key, _ in wrong})
    records: list[Record] = []
    for key in keys or dict.fromkeys([*config_table.KEYS, *besides]):
        row = config_check.find_key(key)
        texts = values.get(key, [])
        if row and not row.get("many"):
            texts = texts[-1:]
        for text in texts or [""]:
            records.append(_make_setting(repo, key, row, text, wrong.get((key, text), "")))
    return records


def set_setting(repo: Repo, key: str, text: str) -> None:
    """Set a key of the table in the repository's configuration; a key that may have several values
    gets one more.  Raises InputError for a value that it cannot have."""
    row = config_check.find_key(key)
    if row is None:
        raise InputError(f"no such key: '{key}'")
    complaint = config_check.find_complaint(row, text)
    if complaint:
        subject = "" if row["kind"] == "pipeline" else "it "
        raise InputError(f"'{key}' cannot be '{text}': {subject}{complaint}")
    add = ["--add"] if row.get("many") else []
    try:
        repo.git.run("config", "--local", *add, key, text)
    except GitError as e:
        raise e.shorten() from None


def _make_setting(repo: Repo, key: str, row: Key | None, text: str, complaint: str) -> Record:
    default = row["default"] if row else ""
    where = None
    if key in repo.config.read_values():
        where = find_origin(repo, key, text)
    is_url = len(text.split()) == 1
    text = places.clean_url(text) if is_url else hide_passwords(text)  # or several, in a pipeline
    return {
        "type": "setting",
        "key": key,
        "value": text if where and not complaint else default,
        "text": text,
        "origin": format_origin(where) if where else "",
        "scope": where[0] if where else "",
        "default": default,
        "kind": row["kind"] if row else "",
        "meaning": row["meaning"] if row else "",
        "complaint": complaint,
    }
