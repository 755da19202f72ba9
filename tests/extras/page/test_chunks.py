"""The values that a page unfolds on demand, and what is redacted together for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gitcp.extras.page import gather
from gitcp.extras.page.template import Chunks
from gitcp.git.repo import Repo

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_value_is_found_where_it_was_stored() -> None:
    chunks, again = Chunks(), Chunks()
    values = [{"text": f"{n} " + "ü" * 30_000} for n in range(20)]
    places = [chunks.store(value) for value in values]
    assert len({chunk for chunk, _ in places}) > 3
    assert [chunks.read(*place) for place in places] == values
    assert [again.store(value) for value in values] == places
    assert again.list_packed() == chunks.list_packed()


def test_texts_are_redacted_together_as_each_alone(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    repo = Repo.find(str(tmp_path))
    redact = gather.make_redaction(repo, gather.open_kept(repo, "clean"))
    texts = ["plain", f"use {TOKEN} now", "", "half \udcff", "x" * 3000]
    together = redact(texts)
    assert together == [one for text in texts for one in redact([text])]
    assert TOKEN not in together[1] and together[0] == "plain"
