"""Reads the transcripts of Kilo Code, which are as opencode's."""

from gitcp.agents.opencode.transcript import list_facts, read_answers

__all__ = ["list_facts", "read_answers"]
