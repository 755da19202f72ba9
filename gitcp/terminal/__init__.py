"""The terminal of a command: its line of arguments, its answer, and what asks the person."""
