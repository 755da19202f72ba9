"""The rules of `gitcp check`: what a file may say, and what breaks a rule."""

from __future__ import annotations

import tomllib

import pytest

from gitcp.errors import Error
from gitcp.lines import check_rules

ADDED = {"agent": 5, "person": 2, "unknown": 2, "unrecorded": 1}


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", {}),
        ("[other]\nmax-unknown = 5", {}),
        ("[check]\nmax-unknown = 0", {"max-unknown": 0}),
        ("[check]\nmax-unrecorded = 12.5\nno-secrets = false", {"max-unrecorded": 12.5}),
        ("[check]\nneed-signatures = true", {"need-signatures": True}),
    ],
)
def test_a_file_of_rules_is_read(text: str, rules: dict[str, object]) -> None:
    assert check_rules.parse_rules(tomllib.loads(text).get("check", {}), "it") == rules


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("check = 3", "'check' in it must be a table"),
        ("[check]\nmax-unkown = 3", "'max-unkown' in it is no rule; rules are max-unknown"),
        ("[check]\nmax-unknown = 101", "a number from 0 to 100"),
        ("[check]\nmax-unknown = true", "a number from 0 to 100"),
        ("[check]\nno-secrets = 'yes'", "must be true or false"),
    ],
)
def test_what_is_no_rule_is_refused_and_never_passed_over(text: str, complaint: str) -> None:
    with pytest.raises(Error, match=complaint):
        check_rules.parse_rules(tomllib.loads(text)["check"], "it")


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        ({}, []),
        ({"max-unknown": 20}, []),
        ({"max-unknown": 19.9}, ["2 of 10 added lines are unknown, 20 %: more than 19.9 %"]),
        ({"max-unrecorded": 0}, ["1 of 10 added lines are unrecorded, 10 %: more than 0 %"]),
    ],
)
def test_a_share_is_held_against_its_limit(rules: dict[str, float], broken: list[str]) -> None:
    assert [reason["reason"] for reason in check_rules.judge_shares(rules, ADDED)] == broken


def test_a_range_that_adds_no_line_keeps_every_share() -> None:
    assert list(check_rules.judge_shares({"max-unknown": 0}, dict.fromkeys(ADDED, 0))) == []
