"""The short way round the redactor: what is nothing but words needs no rule."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.checkpoints import redactor
from gitcp.checkpoints.redact import Redactor
from gitcp.git.repo import Repo
from tests.checkpoints.rules.test_redact import spelled
from tests.support.paths import DATA

# What rules look for, between words of any letters and digits.
KEYS = "Bearer bearer machine login token secret auth api key pwd pass curl mysql eyJ pat SG. hvs."
LETTERS = string.ascii_letters + string.digits + ".,;!?'()"
WORDS = st.lists(st.sampled_from(KEYS.split()) | st.text(LETTERS, min_size=1, max_size=15)).map(
    " ".join
)
TOKEN = "ghp_" + "a1B2" * 9
REDACTOR = Redactor()


@given(WORDS)
def test_no_rule_finds_a_secret_in_mere_words(text: str) -> None:
    data = text.encode()
    assert redactor.is_words_only(data)
    assert REDACTOR.redact_text(data) == data


@pytest.mark.parametrize("text", ["", "fix bug 17, please!", "Who's (not) there?\nMe."])
def test_a_plain_prompt_is_only_words(text: str) -> None:
    assert redactor.is_words_only(text.encode())


NETRC = "machine example login me password swordfish"


@pytest.mark.parametrize("text", [TOKEN, NETRC, "my Password", "a=b", "x-1", "a1" * 8, "über"])
def test_what_could_hold_a_secret_is_not(text: str) -> None:
    assert not redactor.is_words_only(text.encode())


def test_a_secret_in_a_prompt_is_replaced(repo: Path) -> None:
    assert redactor.redact_text(Repo.find(), f"use {TOKEN} here") == "use REDACTED here"


def test_a_rule_of_the_person_sees_mere_words_too(repo: Path) -> None:
    config = repo / ".git" / "config"
    config.write_text(config.read_text() + "[gitcp]\n\tredact = swordfish\n")
    assert redactor.redact_text(Repo.find(), "open swordfish now") == "open REDACTED now"


def test_the_short_way_is_not_taken_for_any_secret_of_the_corpus() -> None:
    rows = (DATA / "redact" / "secrets.tsv").read_text().splitlines()
    for row in rows:
        rule, text = row.split("\t")[:2]
        assert not redactor.is_words_only(spelled(text).encode()), rule
