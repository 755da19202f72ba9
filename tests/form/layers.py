"""The packages of gitcp in their order, and the modules that only decide."""

from __future__ import annotations

# Lowest first.  What stands in a line is on one level.
LAYERS = (
    "VERSION errors memory packages lazy_modules",
    "commands",
    "text",
    "agents",
    "git",
    "checkpoints",
    "record",
    "guard",
    "lines",
    "link",
    "steps",
    "setup",
    "terminal",
    "extras",
    "library",
    "events",
    "cmd",
    "hook",
    "program",
    "entry __main__",
)
LEVELS = {part: level for level, parts in enumerate(LAYERS) for part in parts.split()}
# Who may import `extras`: all others are as good without it.  An event does so in the function that
# imports conversations of which no hook has heard.
USERS_OF_EXTRAS = {"extras", "library", "events", "cmd"}
# Modules of decisions: no git, clock, environment or file.
PURE = set(
    """gitcp.agents.transcripts gitcp.agents.transcripts.agent_words
    gitcp.agents.transcripts.blocks gitcp.agents.transcripts.shell_words
    gitcp.agents.transcripts.transcript_facts gitcp.checkpoints.format
    gitcp.checkpoints.format.exports gitcp.checkpoints.format.keys
    gitcp.checkpoints.format.line_authors gitcp.checkpoints.format.merge_rules
    gitcp.checkpoints.format.orphan_rules gitcp.checkpoints.format.schema
    gitcp.checkpoints.links gitcp.checkpoints.redact gitcp.checkpoints.redact.assigned
    gitcp.checkpoints.redact.encoded gitcp.checkpoints.redact.images
    gitcp.checkpoints.redact.json_values gitcp.checkpoints.redact.options
    gitcp.checkpoints.redact.personal gitcp.checkpoints.redact.random_runs
    gitcp.checkpoints.redact.rules gitcp.extras.bisect.rules gitcp.extras.facts.tables
    gitcp.extras.imports.rules gitcp.extras.page.hunks gitcp.extras.page.page_parts
    gitcp.extras.search.rules
    gitcp.extras.ui.panes gitcp.extras.ui.rows gitcp.git.commit_message gitcp.git.config_table
    gitcp.git.gitdir.pack_format gitcp.git.objects.patches gitcp.git.places
    gitcp.git.private_files gitcp.git.status gitcp.guard.guard_rules gitcp.lines.blame_options
    gitcp.lines.blame_table gitcp.lines.porcelain
    gitcp.lines.committed.line_moves gitcp.lines.committed.neighbours gitcp.lines.sums
    gitcp.lines.check_rules gitcp.lines.costs gitcp.lines.survival
    gitcp.lines.tally gitcp.link.linking
    gitcp.record.journal.credit gitcp.record.journal.cuts
    gitcp.record.journal.line_kinds gitcp.record.looks.credit_cases
    gitcp.record.match.change gitcp.record.match.found gitcp.record.match.holding
    gitcp.record.match.open_edits gitcp.record.match.remains gitcp.record.match.touched
    gitcp.record.match.units gitcp.record.session.phases
    gitcp.record.session.stream_choice gitcp.record.snapshot.limits gitcp.setup.care.findings
    gitcp.setup.care.sentences gitcp.setup.care.space_sums
    gitcp.setup.ci_jobs gitcp.setup.config_check gitcp.setup.entire_settings
    gitcp.setup.exclude_file gitcp.setup.hook_texts gitcp.setup.skill
    gitcp.steps.abandoned_rules gitcp.steps.whose.lineage
    gitcp.steps.back.plan gitcp.steps.back.point gitcp.steps.back.taking_back
    gitcp.steps.step gitcp.steps.undo_tree
    gitcp.steps.whose.parts gitcp.steps.handover_text gitcp.terminal.answers
    gitcp.terminal.causes gitcp.terminal.completion gitcp.terminal.explained gitcp.terminal.history
    gitcp.terminal.lanes gitcp.terminal.manual
    gitcp.terminal.recap gitcp.terminal.rows gitcp.terminal.stats gitcp.terminal.status
    gitcp.text.carry.changes gitcp.text.carry.forms gitcp.text.carry.gaps
    gitcp.text.carry.imports gitcp.text.carry.moves gitcp.text.carry.origins gitcp.text.carry.text
    gitcp.text.carry.tokens gitcp.text.file_moves gitcp.text.ids gitcp.text.json
    gitcp.text.line_credit gitcp.text.line_evidence gitcp.text.line_replay gitcp.text.pairing
    gitcp.text.prompt_text gitcp.text.record_types gitcp.text.shapes gitcp.text.spans""".split()
)


def find_package(module: str) -> str:
    """The name in LAYERS of what a module, or a name of one, is in; '' for gitcp itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""
