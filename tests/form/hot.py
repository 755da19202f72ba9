"""The modules that hooks load in an ordinary turn and at its commit: they alone import inside
functions."""

HOT = set(
    """gitcp gitcp.agents gitcp.agents.claude_code gitcp.agents.claude_code.transcript gitcp.gitdir
    gitcp.commands gitcp.console gitcp.context gitcp.core.checkpoint_keys gitcp.core.commit_message
    gitcp.core.config_table gitcp.core.credit gitcp.core.credit_cases gitcp.core.formats
    gitcp.core.guard_rules gitcp.core.json gitcp.core.line_replay gitcp.core.linking
    gitcp.core.links gitcp.core.orphan_rules gitcp.core.redact.redactor
    gitcp.core.redact.rules gitcp.core.stream_rules gitcp.core.transcripts
    gitcp.core.v1_format gitcp.entry gitcp.errors gitcp.events gitcp.events.commits
    gitcp.events.tool_call gitcp.events.turn_end gitcp.events.turn_start
    gitcp.events.turns gitcp.files gitcp.git gitcp.hook gitcp.memory gitcp.patterns
    gitcp.record gitcp.repo gitcp.store.claims gitcp.store.guard gitcp.store.journal
    gitcp.store.journal.calls gitcp.store.journal.edits gitcp.store.journal.open_edits
    gitcp.store.journal.windows gitcp.store.lines.commit_lines gitcp.store.lines.edit_lines
    gitcp.store.link.commit gitcp.store.link.commit_sessions gitcp.store.link.condense
    gitcp.store.match gitcp.store.match.sources gitcp.store.notes gitcp.store.objects
    gitcp.gitdir.packs gitcp.store.redaction gitcp.store.refs gitcp.store.relink
    gitcp.store.session gitcp.store.setup.guard_files gitcp.store.snapshot
    gitcp.store.snapshot.scan gitcp.store.stream gitcp.store.stream.writing
    gitcp.store.tasks gitcp.store.turn gitcp.store.v1.checkpoints
    gitcp.store.v1.committed_write gitcp.store.v1.stored_transcripts""".split()
)
