"""The modules that hooks load in an ordinary turn and at its commit, and where a pipeline is
configured: they alone import inside functions."""

HOT = set(
    """gitcp gitcp.agents gitcp.agents.claude_code gitcp.agents.claude_code.transcript gitcp.text.console
    gitcp.record gitcp.checkpoints.format.keys gitcp.git.commit_message gitcp.git.config_table
    gitcp.record.journal.credit gitcp.record.looks.credit_cases gitcp.record.journal.credit gitcp.text.shapes
    gitcp.guard.guard_rules gitcp.text.json gitcp.text.line_replay gitcp.record.match.linking
    gitcp.checkpoints.links gitcp.git.commit_message gitcp.checkpoints.format.orphan_rules gitcp.text.prompt_text
    gitcp.checkpoints.redact gitcp.record.session.stream_rules gitcp.agents.transcripts gitcp.checkpoints.format
    gitcp.entry gitcp.errors gitcp.events gitcp.events.commits gitcp.events.tool_call
    gitcp.events.turn_end gitcp.events.turn_start gitcp.events.turns gitcp.git.files gitcp.git
    gitcp.git.gitdir gitcp.git.gitdir.packs gitcp.hook gitcp.memory gitcp.git.objects gitcp.text.patterns
    gitcp.git.records gitcp.git.repo gitcp.cmd.stages gitcp.guard gitcp.guard.tool_calls
    gitcp.record.journal gitcp.record.looks.calls gitcp.record.journal.edits
    gitcp.record.looks gitcp.record.looks.windows gitcp.lines.commit_lines
    gitcp.lines.edit_lines gitcp.link.commit gitcp.link.commit_sessions
    gitcp.link.condense gitcp.record.match gitcp.record.match.sources gitcp.checkpoints.notes
    gitcp.checkpoints.redactor gitcp.git.refs gitcp.link gitcp.record.session
    gitcp.setup.guard_files gitcp.record.snapshot gitcp.record.snapshot.scan
    gitcp.checkpoints.transcripts gitcp.record.stream gitcp.record.stream.tasks
    gitcp.record.stream.verdict gitcp.record.stream.writing gitcp.record.turn
    gitcp.record.turn.writing gitcp.record.unheard gitcp.checkpoints.stored
    gitcp.checkpoints.writing""".split()
)
