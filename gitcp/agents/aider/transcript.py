"""Reading a transcript of Aider, which is in our words."""

from gitcp.agents.other.transcript import facts_of, scan, written

__all__ = ["facts_of", "scan", "written"]
