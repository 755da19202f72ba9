"""The original program's settings in our words."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.setup import entire_settings

WARNING = "gitcp.enable-multisession-warning"


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({}, {}),
        ({"strategy": "manual-commit"}, {}),
        ({"strategy": "shadow"}, {}),
        ({"strategy": "auto-commit"}, {"gitcp.strategy": "auto-commit"}),
        ({"strategy": "dual"}, {"gitcp.strategy": "auto-commit"}),
        ({"strategy_options": {"push_sessions": False}}, {"gitcp.push": "false"}),
        ({"strategy_options": {"push_sessions": True}}, {}),
        ({"disable-multisession-warning": True}, {WARNING: "false"}),
        ({"disable-multisession-warning": False}, {WARNING: "true"}),
        ({"strategy_options": {"disable-multisession-warning": False}}, {WARNING: "true"}),
        ({"strategy_options": None, "telemetry": None, "log_level": 3}, {}),
    ],
)
def test_settings_become_our_keys(settings: dict[str, Any], values: dict[str, str]) -> None:
    merged = entire_settings.merge_settings(settings, {})
    assert entire_settings.translate_settings(merged) == (values, [])


@pytest.mark.parametrize(
    ("settings", "word"), [({"strategy": ["x"]}, "['x']"), ({"enabled": False}, "disabled")]
)
def test_what_is_not_taken_over_is_said(settings: dict[str, Any], word: str) -> None:
    values, notes = entire_settings.translate_settings(entire_settings.merge_settings(settings, {}))
    assert values == {} and word in notes[0]


def test_local_settings_win_field_by_field() -> None:
    shared = {"strategy": "dual", "strategy_options": {"push_sessions": False, "a": 1}}
    merged = entire_settings.merge_settings(shared, {"strategy_options": {"push_sessions": True}})
    assert merged == {"strategy": "dual", "strategy_options": {"push_sessions": True, "a": 1}}
