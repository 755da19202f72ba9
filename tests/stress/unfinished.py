"""What a hook or a command began to write and did not finish."""

from __future__ import annotations

from tests.support.harness import World


def unfinished(world: World) -> list[str]:
    """Scratch files of ours, and files of packs that have no index."""
    git = world.path / ".git"
    packs = git / "objects/pack"
    scratch = [*(git / "gitcp/tmp").glob("*"), *(git / "gitcp/transcript").glob("*.redacted.*")]
    parts = [path for path in packs.glob("*") if not path.with_suffix(".idx").exists()]
    return sorted(path.name for path in (*scratch, *parts))
