"""Reading a transcript of Kilo Code, which is as one of opencode."""

from gitcp.agents.opencode.transcript import list_facts, list_written, read_answers, scan

__all__ = ["list_facts", "list_written", "read_answers", "scan"]
