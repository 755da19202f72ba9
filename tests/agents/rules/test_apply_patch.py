from __future__ import annotations

import pytest

from gitcp.agents.transcripts import agent_words

BODY = """*** Begin Patch
*** Add File: new.py
+*** Update File: not.py
*** Update File: old name.py
*** Move to: moved.py
@@
 *** Delete File: not.py
*** Delete File: gone.py
*** Update File: new.py
*** End Patch"""
PATHS = ["new.py", "old name.py", "moved.py", "gone.py"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BODY, PATHS),
        (f"cd x && apply_patch <<'EOF'\n{BODY}\nEOF\necho '*** Add File: no'", PATHS),
        (f'apply_patch "{BODY}"', PATHS),
        (BODY.replace("\n", "\r\n"), PATHS),
        (BODY.replace("@@", "+a\x0c*** Add File: not.py\u2028*** Add File: not.py"), PATHS),
        ("*** Add File: outside.py", []),
        ("", []),
    ],
)
def test_the_paths_of_a_patch_are_those_of_its_headers(text: str, expected: list[str]) -> None:
    assert agent_words.list_paths(text) == expected


def test_the_hunks_of_a_patch_are_what_it_looks_for_and_what_it_puts_there() -> None:
    patch = """*** Begin Patch
*** Add File: new.py
+one
+
*** Update File: old.py
*** Move to: moved.py
@@ def f():
 a

-b
+B
@@
+c
*** End of File
*** Delete File: gone.py
*** End Patch"""
    assert list(agent_words.parse_hunks(f"apply_patch '{patch}'")) == [
        ("new.py", None, "one\n\n"),
        ("old.py", "a\n\nb\n", "a\n\nB\n"),
        ("old.py", "", "c\n"),
    ]
