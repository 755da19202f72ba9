"""gitcp's configuration in a repository: its values, where they are set, and what is wrong."""

from __future__ import annotations

import os

from gitcp.core import config_table
from gitcp.core.setup import config_check
from gitcp.core.upkeep.findings import make_finding
from gitcp.store.setup import strategy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.config_table import Key
    from gitcp.core.record_types import Finding, Record
    from gitcp.repo import Repo

    Origin = tuple[str, str, int]  # scope, file, line; 0 for an unknown line

_STRATEGY = "commit with jj, or 'git config gitcp.strategy manual-commit'"


def list_findings(repo: Repo) -> list[Finding]:
    """A finding for each wrong value or name.  git is asked for origins only if there are any."""
    findings = []
    for key, value, why in config_check.list_complaints(repo.config.read_values()):
        reason = f"'{key} = {value}' in {format_origin(find_origin(repo, key, value))}: {why}"
        remedy = f"set another value, or 'git config --unset {key}'"
        findings.append(make_finding("config", key, reason, remedy=remedy))
    if repo.jj and strategy.get_configured(repo) == strategy.AUTO:
        reason = "gitcp.strategy = auto-commit does not hold in jj: turns end with a checkpoint"
        findings.append(make_finding("config", "gitcp.strategy", reason, remedy=_STRATEGY))
    return findings


def list_notices(repo: Repo) -> list[str]:
    """The line about wrong settings that a session gets at its start; [] if none is wrong."""
    findings = list_findings(repo)
    if len(findings) > 1:
        more = f"{len(findings) - 1} more: 'gitcp config --check' shows them"
        return [f"gitcp: {findings[0]['reason']} ({more})"]
    return [f"gitcp: {finding['reason']}" for finding in findings]


def find_origin(repo: Repo, key: str, value: str) -> Origin:
    """The last place where a key is set to a value."""
    args = ("config", "-z", "--show-scope", "--show-origin", "--get-all", key)
    words = repo.git.run(*args, ok=(0, 1))[1].decode("utf-8", "surrogateescape").split("\0")
    last: Origin = ("", "", 0)
    for scope, source, text in zip(words[::3], words[1::3], words[2::3], strict=False):
        if text == value or not last[0]:
            file = source.removeprefix("file:") if source.startswith("file:") else ""
            last = scope, os.path.join(repo.top or repo.common, file) if file else "", 0
    return (last[0], last[1], _find_line(last[1], key, value)) if last[1] else last


def format_origin(where: Origin) -> str:
    """An origin as text: its file and line, or its scope."""
    scope, file, line = where
    if not file:
        return f"the {scope or 'command'} line" if scope in ("", "command") else scope
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

    value: the value in force; text: what is set, '' for nothing; origin: where it is set;
    complaint: what is wrong with it.
    """
    values = repo.config.read_values()
    wrong = {(key, text): why for key, text, why in config_check.list_complaints(values)}
    pipes = {key for key in values if key.startswith("gitcp.") and key.endswith(".pipeline")}
    besides = sorted(pipes | {key for key, _ in wrong})
    records: list[Record] = []
    for key in keys or dict.fromkeys([*config_table.KEYS, *besides]):
        about = config_check.find_key(key)
        texts = values.get(key, [])
        if about and not about.get("many"):
            texts = texts[-1:]
        for text in texts or [""]:
            records.append(_make_setting(repo, key, about, text, wrong.get((key, text), "")))
    return records


def _make_setting(repo: Repo, key: str, about: Key | None, text: str, complaint: str) -> Record:
    default = about["default"] if about else ""
    where = find_origin(repo, key, text) if key in repo.config.read_values() else None
    return {
        "type": "setting",
        "key": key,
        "value": text if where and not complaint else default,
        "text": text,
        "origin": format_origin(where) if where else "",
        "scope": where[0] if where else "",
        "default": default,
        "kind": about["kind"] if about else "",
        "meaning": about["meaning"] if about else "",
        "complaint": complaint,
    }
