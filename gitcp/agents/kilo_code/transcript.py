"""Reading a transcript of Kilo Code, which is as one of opencode."""

from gitcp.agents.opencode.transcript import facts_of, read_answers, scan, written

__all__ = ["facts_of", "read_answers", "scan", "written"]
