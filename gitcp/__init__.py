"""gitcp: what coding agents do to a repository, recorded in git."""

VERSION = "0.1.0"  # as pyproject has it, and as state files carry it
