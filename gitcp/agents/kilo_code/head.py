"""The head of a transcript of Kilo Code, which is as opencode's."""

from gitcp.agents.opencode.head import read_head

__all__ = ["read_head"]
