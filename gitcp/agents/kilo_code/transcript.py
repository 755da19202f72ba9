"""Reading a transcript of Kilo Code, which is as one of opencode."""

from gitcp.agents.opencode.transcript import list_facts, 
<<<<<<<
read_answers, scan
=======
list_written
>>>>>>>
, scan

__all__ = ["list_facts", "
<<<<<<<
read_answers", "scan
=======
list_written
>>>>>>>
", "scan"]
