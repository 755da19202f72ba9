"""Reading a transcript of Aider, which is in our words."""

from gitcp.agents.other.transcript import list_facts, list_written, scan

__all__ = ["list_facts", "list_written", "scan"]
