"""Reads the transcripts of Kilo Code, which are as opencode's."""

from gitcp.agents.opencode.transcript import list_facts, list_results

__all__ = ["list_facts", "list_results"]
