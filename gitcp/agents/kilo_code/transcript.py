"""Reading a transcript of Kilo Code, which is as one of opencode."""

from gitcp.agents.opencode.transcript import facts_of, scan, written

__all__ = ["facts_of", "scan", "written"]
