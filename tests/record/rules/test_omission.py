"""What is said of files that are too large for a checkpoint."""

from __future__ import annotations

from gitcp.record.snapshot.limits import find_limit_settings, format_omission


def test_a_file_over_a_limit_is_told_with_the_setting_of_that_limit() -> None:
    reasons = {"a": "too-large", "b": "over-budget", "c": "unreadable"}
    omitted = [{"path": path, "reason": reason} for path, reason in reasons.items()]
    over = find_limit_settings(omitted)
    assert over == {"a": "gitcp.max-file-size", "b": "gitcp.max-untracked-size"}
    said = "gitcp: not kept, being over the limit: "
    both = "(gitcp.max-file-size, gitcp.max-untracked-size)"
    assert format_omission(over) == f"{said}'a', 'b' {both}"
    assert format_omission(dict.fromkeys("dcb", "x")) == f"{said}'b', 'c', 'd' (x)"
    assert format_omission(dict.fromkeys("edcb", "x")) == f"{said}'b', 'c', 'd' and 1 more (x)"
