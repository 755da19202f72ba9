"""The rules of `gitcp check`: parsed, and a range judged by them."""

from __future__ import annotations

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.text.record_types import Record

    Rules = Mapping[str, Any]  # rule -> percentage, or True
    Reason = dict[str, str]  # rule, commit ("" for the range), reason

_SHARES = {"max-unknown": "unknown", "max-unrecorded": "unrecorded"}
_NEEDS = ("need-checkpoints", "need-signatures", "no-secrets")
RULES = (*_SHARES, *_NEEDS)


def parse_rules(table: object, place: str) -> dict[str, Any]:
    """The rules in the table `check` of a .gitcp.toml: rule -> percentage, or True; without rules
    that are switched off.  place: names the file.  Raise Error for an invalid rule."""
    if not isinstance(table, dict):
        raise Error(f"'check' in {place} must be a table")
    rules: dict[str, Any] = {}
    for name, value in table.items():
        if name not in RULES:
            raise Error(f"'{name}' in {place} is no rule; rules are {', '.join(RULES)}")
        if name in _NEEDS and not isinstance(value, bool):
            raise Error(f"'{name}' in {place} must be true or false")
        if name in _SHARES and not _is_percentage(value):
            raise Error(f"'{name}' in {place} must be a percentage, a number from 0 to 100")
        if value is not False:
            rules[name] = value
    return rules


def _is_percentage(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100


def judge_shares(rules: Rules, added: Mapping[str, int]) -> Iterable[Reason]:
    """A complaint for each rule of shares that the added lines (by author, as in Sums) break."""
    total = sum(added.values())
    for rule, who in _SHARES.items():
        share = 0.0
        if total:
            share = 100 * added[who] / total
        if rule in rules and share > rules[rule]:
            count = f"{added[who]} of {total} added lines are {who}, {share:.3g} %"
            yield {"rule": rule, "commit": "", "reason": f"{count}: more than {rules[rule]} %"}


def judge_attested(rules: Rules, oid: str, agent: str) -> Iterable[Reason]:
    """The complaint about a commit that names an agent as its author and has no checkpoint."""
    if "need-checkpoints" in rules:
        reason = f"the commit names {agent} and has no checkpoint"
        yield {"rule": "need-checkpoints", "commit": oid, "reason": reason}


def judge_checkpoint(rules: Rules, verified: Record) -> Iterable[Reason]:
    """The complaints about a checkpoint, by its record `verified`."""
    name = verified["checkpoint_id"]
    oid = verified["commit"]
    if "need-checkpoints" in rules:
        for failure in verified["failures"]:
            reason = f"checkpoint {name}: {failure}"
            yield {"rule": "need-checkpoints", "commit": oid, "reason": reason}
    signature = verified.get("signature", "none")
    if "need-signatures" in rules and not signature.startswith("good"):
        reason = f"checkpoint {name}: its signature: {signature}"
        yield {"rule": "need-signatures", "commit": oid, "reason": reason}


def judge_secret(path: str, kind: str) -> Reason:
    """The complaint about a secret in a path; kind: the rule of redaction that found it."""
    reason = f"what looks like a secret ({kind}) is in '{path}'"
    return {"rule": "no-secrets", "commit": "", "reason": reason}
