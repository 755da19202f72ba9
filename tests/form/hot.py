"""The modules that hooks load in an ordinary turn and at its commit: they alone import inside
functions."""

HOT = set(
    """gitcp gitcp.agent_hook gitcp.agents gitcp.agents.claude_code
    gitcp.agents.claude_code.transcript gitcp.agents.payload gitcp.asked gitcp.commands
    gitcp.console.options gitcp.context gitcp.core.commit_message gitcp.core.config_table
    gitcp.core.credit gitcp.core.credit_cases gitcp.core.git_formats gitcp.core.guard_rules
    gitcp.core.ids gitcp.core.json gitcp.core.line_replay gitcp.core.linking gitcp.core.links
    gitcp.core.orphan_rules gitcp.core.redact.patterns gitcp.core.redact.redactor
    gitcp.core.redact.rules gitcp.core.shapes gitcp.core.stream_rules gitcp.core.transcripts
    gitcp.core.v1_format gitcp.errors gitcp.files gitcp.git gitcp.hook gitcp.lock gitcp.memory
    gitcp.pipelines gitcp.record gitcp.repo gitcp.running gitcp.stages gitcp.stages.chain
    gitcp.stages.commits gitcp.stages.guard gitcp.stages.messages gitcp.stages.sessions
    gitcp.stages.streams gitcp.start gitcp.store.claims gitcp.store.guard.guard
    gitcp.store.journal.calls gitcp.store.journal.edits gitcp.store.journal.journal
    gitcp.store.journal.look gitcp.store.journal.open_edits gitcp.store.journal.windows
    gitcp.store.lines.commit_lines gitcp.store.lines.edit_lines gitcp.store.link.commit
    gitcp.store.link.commit_sessions gitcp.store.link.condense gitcp.store.match.commit_memory
    gitcp.store.match.sources gitcp.store.notes gitcp.store.objects gitcp.store.pack_files
    gitcp.store.pack_upkeep gitcp.store.packs gitcp.store.private gitcp.store.refs
    gitcp.store.relink.catch_up gitcp.store.session.process gitcp.store.session.states
    gitcp.store.setup.guard_files gitcp.store.snapshot.hashing gitcp.store.snapshot.snapshot
    gitcp.store.snapshot.worktree gitcp.store.stream.stream_verdict gitcp.store.stream.streams
    gitcp.store.stream.writing gitcp.store.trees gitcp.store.turn.greeting
    gitcp.store.turn.tasks gitcp.store.turn.turn gitcp.store.v1.checkpoints
    gitcp.store.v1.committed_write gitcp.store.v1.redaction gitcp.store.v1.stored_transcripts
    gitcp.trace""".split()
)
