"""The modules that hooks load in an ordinary turn and at its commit, and where a pipeline is
configured: they alone import inside functions."""

HOT = set(
    """gitcp gitcp.agents gitcp.agents.claude_code gitcp.agents.claude_code.transcript gitcp.console
    gitcp.context gitcp.core.checkpoint_keys gitcp.core.commit_message gitcp.core.config_table
    gitcp.core.credit gitcp.core.credit_cases gitcp.core.edit_states gitcp.core.formats
    gitcp.core.guard_rules gitcp.core.json gitcp.core.line_replay gitcp.core.linking
    gitcp.core.links gitcp.core.message_edits gitcp.core.orphan_rules gitcp.core.prompt_text
    gitcp.core.redact gitcp.core.stream_rules gitcp.core.transcripts gitcp.core.v1_format
    gitcp.entry gitcp.errors gitcp.events gitcp.events.commits gitcp.events.tool_call
    gitcp.events.turn_end gitcp.events.turn_start gitcp.events.turns gitcp.files gitcp.git
    gitcp.gitdir gitcp.gitdir.packs gitcp.hook gitcp.memory gitcp.objects gitcp.patterns
    gitcp.record gitcp.repo gitcp.stages gitcp.store.guard gitcp.store.guard.tool_calls
    gitcp.store.journal gitcp.store.journal.calls gitcp.store.journal.edits
    gitcp.store.journal.looks gitcp.store.journal.windows gitcp.store.lines.commit_lines
    gitcp.store.lines.edit_lines gitcp.store.link.commit gitcp.store.link.commit_sessions
    gitcp.store.link.condense gitcp.store.match gitcp.store.match.sources gitcp.store.notes
    gitcp.store.redaction gitcp.store.refs gitcp.store.relink gitcp.store.session
    gitcp.store.setup.guard_files gitcp.store.snapshot gitcp.store.snapshot.scan
    gitcp.store.stored_transcripts gitcp.store.stream gitcp.store.stream.tasks
    gitcp.store.stream.verdict gitcp.store.stream.writing gitcp.store.turn
    gitcp.store.turn.writing gitcp.store.unheard gitcp.store.v1.checkpoints
    gitcp.store.v1.committed_write""".split()
)
