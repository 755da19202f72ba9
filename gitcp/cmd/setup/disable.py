"""gitcp-disable - silence or remove the hooks"""

from __future__ import annotations

import os

from gitcp.commands import make_flag, make_value
from gitcp.errors import OK, Error, NoRepository, UsageError, format_error
from gitcp.git import files, jj
from gitcp.git.files import exclusive
from gitcp.git.objects import pack_care
from gitcp.git.repo import Repo
from gitcp.record import locate_off, registered
from gitcp.setup import adapters, git_hooks, guard_files, install, lfs, takeover
from gitcp.terminal import cli
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.setup.takeover import Entry, Manifest

OPTIONS = (
    [
        make_flag("--uninstall", "remove what enable wrote; checkpoints stay"),
        make_value(
            "--agent",
            "<name>",
            "remove the hooks of this agent alone; may be given again",
            action="append",
            type=adapters.parse_agent,
        ),
    ],
    make_flag("--user", "with --uninstall or --agent: from your own settings as well"),
    make_flag("-n --dry-run", "only say what would be done"),
)
_ASK_USER = " (--user looks into your own settings, too)"
_OUTCOMES = {
    "restored": "restored '{}'",
    "removed": "removed '{}'",
    "edited": "removed gitcp from '{}', which was edited since",
    "kept": "left '{}', in which nothing is gitcp's any more",
    "gone": "'{}' was gone already",
}


def run(argv: Sequence[str]) -> int:
    """Silence gitcp in this repository, or remove exactly what enable wrote."""
    args = cli.parse("disable", OPTIONS, argv)
    if args.user and not (args.uninstall or args.agent):
        raise UsageError("--user needs --uninstall or --agent")
    if args.agent:
        take_out(Repo.find(), args.agent, args.user, args.dry_run)
        return OK
    try:
        repo = Repo.find()
    except NoRepository:
        if not args.user:
            raise
        with install.open_scratch_repository() as scratch:
            uninstall(scratch, args.user, args.dry_run)
        return OK
    if args.uninstall:
        uninstall(repo, args.user, args.dry_run)
    else:
        silence(repo, args.dry_run)
    return OK


def silence(repo: Repo, dry_run: bool) -> None:
    """Create <common>/gitcp/off: every hook of gitcp ends at once if it exists."""
    off = locate_off(repo)
    if os.path.exists(off):
        print("gitcp is disabled here already")
        return
    if not dry_run:
        repo.make_folder(os.path.dirname(off))
        install.end_recording(repo)
        files.replace_file(off, b"")
    print(f"{'would disable' if dry_run else 'disabled'} gitcp here; 'gitcp enable' wakes it")


def take_out(repo: Repo, names: Sequence[str], user: bool, dry_run: bool) -> None:
    """Restore the files of some agents from before enable; git's hooks stay.  Raise Error, with
    nothing done, if one of the agents has none."""
    manifests = [takeover.load_manifest(repo)] + ([takeover.load_person()] if user else [])
    known = {entry.get("agent") for record in manifests for entry in record.entries}
    absent = [name for name in names if name not in known]
    if absent:
        raise Error(f"no hooks of '{absent[0]}' are installed here" + ("" if user else _ASK_USER))
    for record in manifests:
        chosen = [entry for entry in record.entries if entry.get("agent") in names]
        if dry_run:
            _announce_removal(record, chosen)
            continue
        with exclusive(repo, "install"):
            _restore_entries(repo, record, chosen)
    if not dry_run:
        guard_files.write_configured(repo)
        guard_files.write_watched(repo, manifests[0])


def _announce_removal(record: Manifest, entries: Sequence[Entry]) -> None:
    for entry in entries:
        edited = " (edited since: only gitcp's part)"
        if record.is_intact(entry):
            edited = ""
        cli.show_whole(f"would remove '{record.get_path(entry)}'{edited}")


def _restore_entries(repo: Repo, record: Manifest, entries: Sequence[Entry]) -> None:
    """Restore files, the last written first, and say what became of each."""
    for entry in reversed(entries):
        if entry["kind"] == adapters.KIND and not _uninstall_adapter(repo, entry["agent"]):
            continue
        outcome = _OUTCOMES[record.restore(entry, install.make_stripper(repo, record))]
        cli.show_whole(outcome.format(record.get_path(entry)))


def uninstall(repo: Repo, user: bool, dry_run: bool) -> None:
    """Restore the files from before enable; an edited file loses only gitcp's part."""
    if user and not dry_run:
        cli.show(*install.remove_of_person())
    manifests = [takeover.load_manifest(repo)] + ([takeover.load_person()] if user else [])
    if not any(record.entries for record in manifests):
        print("gitcp is not installed here")
    for record in manifests:
        if dry_run:
            _announce_removal(record, record.entries)
            continue
        with exclusive(repo, "install"):
            folders = install.hook_folders(repo, record)
            leftovers = lfs.plan_leftovers(repo, folders)
            for write in [*leftovers, *git_hooks.plan_removal(record, folders)]:
                git_hooks.clear_stray(write)
                cli.show_whole(write["note"])
            _restore_entries(repo, record, record.entries[:])
            for path in git_hooks.list_forgotten(folders):
                cli.show_whole(f"left '{path}': it {git_hooks.FORGOTTEN}")
    if not dry_run:
        if repo.has_git:
            done = lfs.write_hooks(repo)
            if done:
                print(done)
        install.end_recording(repo)
        pack_care.release_packs(repo)
        guard_files.clear_configured(repo)
        guard_files.clear_ran(repo)
        guard_files.clear_watched(repo)
        registered.remove_repository(repo)
        if repo.top:
            jj.remove_workspace(repo.top)


def _uninstall_adapter(repo: Repo, name: str) -> bool:
    """Let an adapter on PATH remove its agent's hooks; False, with a warning, if it fails."""
    try:
        adapters.remove_hooks(repo, name)
    except Error as e:
        console.warn_lacking(f"the hooks of {name} are still there: {format_error(e)}")
        return False
    return True
