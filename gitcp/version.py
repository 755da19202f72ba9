"""The version of the program, as pyproject has it and as state files carry it."""

VERSION = "0.1.0"
