"""gitcp-disable - silence or remove the hooks"""

from __future__ import annotations

import os

from gitcp import console, files, jj, registered
from gitcp.commands import make_flag
from gitcp.console import cli
from gitcp.errors import OK, Error, NoRepository, UsageError, format_error
from gitcp.files import exclusive
from gitcp.repo import Repo
from gitcp.store import packs
from gitcp.store.setup import adapters, git_hooks, guard_files, install, takeover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_flag("--uninstall", "remove what enable wrote; checkpoints stay"),
    make_flag("--user", "with --uninstall: from your own settings as well"),
    make_flag("-n --dry-run", "only say what would be done"),
)
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
    if args.user and not args.uninstall:
        raise UsageError("--user goes with --uninstall")
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
    off = repo.join_shared("off")
    if os.path.exists(off):
        print("gitcp is disabled here already")
        return
    if not dry_run:
        repo.make_folder(os.path.dirname(off))
        install.end_recording(repo)
        files.replace_file(off, b"")
    print(f"{'would disable' if dry_run else 'disabled'} gitcp here; 'gitcp enable' wakes it")


def uninstall(repo: Repo, user: bool, dry_run: bool) -> None:
    """Restore the files from before enable; an edited file loses only gitcp's part."""
    if user and not dry_run and (done := install.remove_template()):
        print(done)
    manifests = [takeover.load_manifest(repo)] + ([takeover.load_person()] if user else [])
    if not any(record.entries for record in manifests):
        print("gitcp is not installed here")
    for record in manifests:
        if dry_run:
            for entry in record.entries:
                edited = "" if record.is_intact(entry) else " (edited since: only gitcp's part)"
                cli.show_whole(f"would remove '{record.get_path(entry)}'{edited}")
            continue
        with exclusive(repo, "install"):
            folders = install.hook_folders(repo, record)
            for write in git_hooks.plan_removal(record, folders):
                git_hooks.clear_stray(write)
                cli.show_whole(write["note"])
            for entry in reversed(record.entries[:]):
                if entry["kind"] == adapters.KIND and not _uninstall_adapter(repo, entry["agent"]):
                    continue
                outcome = _OUTCOMES[record.restore(entry, install.make_stripper(repo, record))]
                cli.show_whole(outcome.format(record.get_path(entry)))
            for path in git_hooks.list_forgotten(folders):
                cli.show_whole(f"left '{path}': it {git_hooks.FORGOTTEN}")
    if not dry_run:
        install.end_recording(repo)
        packs.release_packs(repo)
        guard_files.clear_configured(repo)
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
