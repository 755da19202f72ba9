"""Reads the transcripts of Aider, which are in gitcp's format."""

from gitcp.agents.other.transcript import list_facts, list_written_paths

__all__ = ["list_facts", "list_written_paths"]
