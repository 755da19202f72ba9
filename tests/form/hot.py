"""The modules that hooks load in an ordinary turn and at its commit, and where a pipeline is
configured: they alone import inside functions."""

HOT = set(
    """gitcp gitcp.agents gitcp.agents.claude_code gitcp.agents.claude_code.transcript
    gitcp.agents.transcripts gitcp.agents.transcripts.transcript_facts
    gitcp.checkpoints.format gitcp.checkpoints.format.keys
    gitcp.checkpoints.format.orphan_rules gitcp.checkpoints.links gitcp.checkpoints.notes
    gitcp.checkpoints.redact gitcp.checkpoints.redact.assigned
    gitcp.checkpoints.redact.encoded gitcp.checkpoints.redact.random_runs
    gitcp.checkpoints.redact.rules gitcp.checkpoints.redactor gitcp.checkpoints.stored
    gitcp.checkpoints.transcripts gitcp.checkpoints.writing gitcp.cmd.stages gitcp.entry
    gitcp.errors gitcp.events gitcp.events.commits gitcp.events.tool_call gitcp.events.turn_end
    gitcp.events.turn_start gitcp.events.turns gitcp.git gitcp.git.commit_message
    gitcp.git.config_table gitcp.git.files gitcp.git.gitdir gitcp.git.gitdir.pack_format
    gitcp.git.gitdir.packs gitcp.git.objects gitcp.git.records gitcp.git.refs gitcp.git.repo
    gitcp.git.status gitcp.guard gitcp.guard.guard_rules gitcp.guard.tool_calls gitcp.hook
    gitcp.lines.commit_lines gitcp.lines.edit_lines gitcp.link gitcp.link.commit
    gitcp.link.commit_sessions gitcp.link.condense gitcp.link.linking gitcp.memory gitcp.record
    gitcp.record.journal gitcp.record.journal.credit gitcp.record.journal.edits
    gitcp.record.journal.line_kinds gitcp.record.journal.settling
    gitcp.record.journal.stretches
    gitcp.record.looks gitcp.record.looks.calls gitcp.record.looks.credit_cases
    gitcp.record.looks.windows gitcp.record.match gitcp.record.match.found
    gitcp.record.match.remains gitcp.record.match.sources gitcp.record.session
    gitcp.record.session.phases gitcp.record.session.stream_choice gitcp.record.snapshot
    gitcp.record.snapshot.limits
    gitcp.record.snapshot.scan gitcp.record.stream gitcp.record.stream.tasks
    gitcp.record.stream.verdict gitcp.record.stream.writing gitcp.record.turn
    gitcp.record.turn.writing gitcp.record.unheard gitcp.setup.guard_files gitcp.text.console
    gitcp.text.ids gitcp.text.json gitcp.text.line_credit gitcp.text.line_evidence
    gitcp.text.line_replay gitcp.text.pairing gitcp.text.patterns
    gitcp.text.prompt_text gitcp.text.shapes""".split()
)
