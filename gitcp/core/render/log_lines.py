"""Draw the lines of `gitcp log`: commits, and the sessions of each."""

from __future__ import annotations

from gitcp.core.render.spans import count_noun, format_shares, format_usage, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Line


SHORT = 7  # digits of a commit
_PROMPT = 72


def draw_log(commits: Iterable[Record]) -> Iterator[Line]:
    """A line for each commit, and two for each session behind it."""
    for commit in commits:
        yield [
            (commit["oid"][:SHORT], "yellow"),
            (f" {commit['day']} {commit['author']}  ", "dim"),
            (commit["message"], "bold" if commit["checkpoints"] else ""),
        ]
        for checkpoint in commit["checkpoints"]:
            yield from _draw_checkpoint(checkpoint)


def _draw_checkpoint(checkpoint: Record) -> Iterator[Line]:
    name = (f"    {checkpoint['checkpoint_id']}", "cyan")
    if checkpoint.get("missing"):
        yield [name, ("  is not stored here; 'gitcp relink' or 'gitcp fetch' may bring it", "dim")]
        return
    for session in checkpoint["contents"]:
        usage = session.get("token_usage_delta") or session.get("token_usage")
        used = format_usage(usage, session["agent"])
        share = format_shares(session.get("initial_attribution"), ("agent",))
        lines = f"{share} lines" if share else ""
        facts = ", ".join(filter(None, [count_noun(len(session["files"]), "file"), lines, used]))
        if session.get("forgotten"):
            facts = f"forgotten {str(session['forgotten'])[:10]}"
        yield [name, (f"  {session['agent'] or 'Agent'}", "green"), (f"  {facts}", "")]
        prompts = session["asked"]
        if prompts:
            more = f" (+{len(prompts) - 1} more)" if len(prompts) > 1 else ""
            yield [("        ", ""), (shorten(prompts[0], _PROMPT), ""), (more, "dim")]
    for session in checkpoint["contents"][:1]:
        if shares := format_shares(session.get("initial_attribution"), ("person", "unknown")):
            yield [("        ", ""), (shares, "dim")]
