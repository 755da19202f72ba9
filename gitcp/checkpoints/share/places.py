"""Places: where the permanent store may be sent, and how git gets there
(doc/behaviour.md "Sharing").

A person agrees to a place: the URL that git resolves and hands to pre-push.  gitcp.place lists
them.  What gitcp.remote names, a remote or a URL, becomes such a place at the first run; a URL gets
the store at each push, wherever that goes.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from gitcp.checkpoints import listing
from gitcp.errors import Error, InputError
from gitcp.git import refs
from gitcp.git.places import clean_url, name_place
from gitcp.git.records import decode_lines
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.repo import Repo

NONE = "none"
_REMOTE = "gitcp.remote"
_PLACE = "gitcp.place"
_ONCE = "gitcp-place"  # a remote for one command, by `git -c`
_STORE = "entire/checkpoints/v1"


@value_class
class SharedPlace:
    """A repository elsewhere, and what git is given so that it gets exactly there."""

    url: str  # as git resolves it, without a password; equal only to the same place
    label: str  # for messages: the name of a remote that leads only there, or the URL
    address: str  # for git push: a remote or a URL; "" if no configured URL leads there
    source: str  # for git fetch, likewise
    options: tuple[str, ...] = ()  # of git, before the command


def locate_searched(repo: Repo) -> str:
    """What pushes have searched for secrets, and what they found."""
    return repo.join_shared("searched")


# What is configured.
def read_destination(repo: Repo) -> str:
    """What gitcp.remote is set to: a remote's name, a URL or NONE; "" if it is not set."""
    return (repo.config.get_option(_REMOTE) or "").strip()


def list_remotes(repo: Repo) -> list[str]:
    """The names of the configured remotes."""
    keys = [
        *repo.config.list_keys("remote.", ".url"),
        *repo.config.list_keys("remote.", ".pushurl"),
    ]
    return list(dict.fromkeys(key.removeprefix("remote.").rpartition(".")[0] for key in keys))


def find_usual_remote(repo: Repo) -> str:
    """The remote that `git push` uses; "" if there are several."""
    branch = refs.read_branch(repo).removeprefix("refs/heads/")
    keys = (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote")
    for key in keys:
        name = repo.config.get(key)
        if name:
            return name
    remotes = list_remotes(repo)
    if "origin" in remotes:
        return "origin"
    return remotes[0] if len(remotes) == 1 else ""


def is_url(name: str) -> bool:
    """Whether a name that is no remote's is the address of a repository."""
    return any(sign in name for sign in ":/") or name.startswith((".", "~"))


def find_own_url(repo: Repo) -> str:
    """The URL that gets the store at each push, as it is configured; "" for none."""
    configured = read_destination(repo)
    if is_url(configured) and configured not in list_remotes(repo):
        return configured
    return ""


def check_destination(repo: Repo, destination: str) -> str:
    """A destination that a person names; raises InputError unless it is NONE, a remote or a URL."""
    if destination == NONE or destination in list_remotes(repo) or is_url(destination):
        return destination
    raise InputError(f"neither a remote nor a URL: '{destination}'")


# What is agreed to.
def list_agreed(repo: Repo) -> list[str]:
    """The places that the person agreed to, each once; none if gitcp.remote is NONE."""
    if read_destination(repo) == NONE:
        return []
    agreed = [clean_url(url) for url in repo.config.get_all(_PLACE) if url]
    own = find_own_url(repo)
    if own:
        agreed.append(name_url(repo, own))
    return list(dict.fromkeys(agreed))


def name_url(repo: Repo, url: str) -> str:
    """The place of a URL that git resolved here."""
    return name_place(url, repo.top or repo.git_dir)


def is_settled(repo: Repo) -> bool:
    """Whether it is said where checkpoints go: to places, or nowhere."""
    return bool(read_destination(repo) or repo.config.get_all(_PLACE))


def agree(repo: Repo, urls: Iterable[str]) -> None:
    """Add places to those that are agreed to in this repository."""
    for url in urls:
        # which replaces the same value, or adds it
        _set(repo, "--fixed-value", "--replace-all", _PLACE, url, url)
    if read_destination(repo) == NONE:
        _set(repo, "--unset-all", _REMOTE)
        if read_destination(repo) == NONE:  # of a wider scope
            _set(repo, _REMOTE, "")


def make_own(repo: Repo, url: str) -> None:
    """Let a URL get the store at each push, wherever that goes."""
    _set(repo, _REMOTE, url)


def withdraw(repo: Repo, urls: Iterable[str]) -> None:
    """Take places out of those that are agreed to; without the last one checkpoints stay here.

    Raises Error for a place that the configuration of this person or machine agrees to.
    """
    own = find_own_url(repo)
    if own:
        own_urls = [name_url(repo, own), *(p.url for p in find_places(repo, own))]
    else:
        own_urls = []
    for url in urls:
        for value in repo.config.get_all(_PLACE):
            if clean_url(value) == url:
                _set(repo, "--fixed-value", "--unset-all", _PLACE, value)
        if url in own_urls:
            _set(repo, "--unset-all", _REMOTE)
        if url in list_agreed(repo):
            wider = "'git config --show-origin --get-all gitcp.place' names the file"
            raise Error(f"'{url}' is agreed to outside of this repository: {wider}")
    if not list_agreed(repo):
        _set(repo, _REMOTE, NONE)


def _set(repo: Repo, *args: str) -> None:
    """Change the configuration of this repository; 5: nothing to unset."""
    repo.git.run("config", "--local", *args, ok=(0, 5))
    repo.read_config_again()


def count_lacking(repo: Repo, place: SharedPlace) -> int:
    """The number of checkpoints that a place, as far as is known, lacks or has otherwise.  Those on
    a branch that is not pushed count."""
    ours = listing.list_tips(repo)
    theirs = listing.read_pushed(repo, place.url)
    count = listing.count_changed(repo.objects, ours, theirs)
    tracked = None
    if place.label == place.address:
        tracked = _read_tracking(repo, place.label)
    if not tracked:
        return count
    fetched = {**theirs, refs.REF: tracked}
    return min(count, listing.count_changed(repo.objects, ours, fetched))


def settle(repo: Repo) -> str:
    """Agree to the place that gitcp.remote names, at the first run; return what is to be said.

    A remote's name in the configuration of this repository is replaced by its places; a name in a
    wider one, and a URL, count where nothing is agreed to here.
    """
    configured = read_destination(repo)
    if configured in ("", NONE):
        return ""
    is_name = configured in list_remotes(repo)
    if repo.config.get_all(_PLACE) and not (is_name and _is_local(repo)):
        return ""
    if not (is_name or is_url(configured)):
        return ""
    urls = [place.url for place in find_places(repo, configured)]
    elsewhere = ""
    if is_name:
        elsewhere = _find_elsewhere(repo, configured)
        _set(repo, "--unset-all", _REMOTE)
    if elsewhere:
        moved = f"checkpoints were sent to what is now the remote '{elsewhere}'"
        return f"{moved}: none is sent until 'gitcp push --to {elsewhere}'"
    agree(repo, urls)
    if not is_name:
        return ""
    _keep_pushed(repo, configured, urls)
    named = ", ".join(f"'{url}'" for url in urls)
    return f"checkpoints go to {named}, also if '{configured}' means another place later"


def _is_local(repo: Repo) -> bool:
    """Whether the configuration of this repository itself sets gitcp.remote."""
    _, out = repo.git.run("config", "--local", "--get", _REMOTE, ok=(0, 1))
    return bool(out)


def _find_elsewhere(repo: Repo, name: str) -> str:
    """The remote that has what was last pushed under another remote's name, which lacks it; ""
    for none.  `git remote rename` takes the remote-tracking branches along."""
    tip = listing.read_pushed(repo, name).get(refs.REF)
    if not tip or _read_tracking(repo, name) == tip:
        return ""
    for other in list_remotes(repo):
        if other != name and _read_tracking(repo, other) == tip:
            return other
    return ""


def _read_tracking(repo: Repo, remote: str) -> str | None:
    return refs.read_ref(repo, f"refs/remotes/{remote}/{_STORE}")


def _keep_pushed(repo: Repo, name: str, urls: Sequence[str]) -> None:
    """Know of a place what was known of the remote's name."""
    tips = listing.read_pushed(repo, name)
    if tips and len(urls) == 1:
        listing.set_pushed(repo, urls[0], tips)


# How git gets there.
@value_class
class _Route:
    """A URL that is configured, and where git goes with it."""

    remote: str  # "" for a URL of no remote
    key: str  # of the remote: url or pushurl
    configured: str
    push: str
    fetch: str

    @property
    def options(self) -> tuple[str, ...]:
        """Options of git by which the remote _ONCE has this URL alone."""
        return _define(_ONCE, self.key, self.configured)


def find_places(repo: Repo, name: str) -> list[SharedPlace]:
    """Where a push to a remote, or to a URL, goes."""
    if name in list_remotes(repo):
        return _build_places(repo, _list_routes(repo, [name]))
    return _build_places(repo, _list_routes(repo, [], [name]))


def find_place(repo: Repo, remote: str, url: str) -> SharedPlace:
    """The place of a push to a remote or a URL; url: as git resolved it.

    Raises Error if no configured URL leads there.
    """
    wanted = name_url(repo, url)
    for place in [*find_places(repo, remote), *find_places(repo, url)]:
        if place.url == wanted:
            return place
    raise Error(f"no configured URL leads to '{wanted}': no checkpoints are sent there")


def list_reached(repo: Repo) -> list[SharedPlace]:
    """The places that the remotes lead to."""
    return _build_places(repo, _list_routes(repo, list_remotes(repo)))


def list_destinations(repo: Repo) -> list[SharedPlace]:
    """The places that are agreed to, each once."""
    agreed = list_agreed(repo)
    if not agreed:
        return []
    own = find_own_url(repo)
    routes = _list_routes(repo, list_remotes(repo), [own, *agreed] if own else agreed)
    found = {place.url: place for place in reversed(_build_places(repo, routes))}
    lost = [SharedPlace(url, url, "", "") for url in agreed]
    return [found.get(place.url, place) for place in lost]


def find_own_place(repo: Repo, besides: str = "") -> SharedPlace | None:
    """The place that gets the store at each push; None without one, and if it is besides, a place.
    Raises Error if git's configuration leads its URL to a place that is not agreed to."""
    own = find_own_url(repo)
    if not own:
        return None
    for place in find_places(repo, own):
        if place.url in list_agreed(repo):
            return None if place.url == besides else place
    advice = f"'gitcp push --to {clean_url(own)}' agrees to it"
    raise Error(f"gitcp.remote leads to another place than was agreed to; {advice}")


def list_sources(repo: Repo) -> list[SharedPlace]:
    """Where a missing checkpoint is fetched from: the places; where nothing is said of them the
    remote that `git push` uses."""
    configured = read_destination(repo)
    found = list_destinations(repo)
    if found or configured == NONE:
        return found
    name = configured or find_usual_remote(repo)
    if name in list_remotes(repo):
        return find_places(repo, name)
    return []


def describe_sending(repo: Repo) -> list[str]:
    """What is sent where as things are now, who can read it and how to stop it, in a few lines."""
    found = list_destinations(repo)
    if not found:
        if read_destination(repo) == NONE:
            return ["nothing is sent anywhere (gitcp.remote is none)"]
        return ["nothing is sent anywhere: 'gitcp push --to <remote>' would send checkpoints"]
    own = None
    with suppress(Error):  # which a push says
        own = find_own_place(repo)
    is_sent = repo.config.get_option("gitcp.push")
    lines: list[str] = []
    for place in found:
        if place.label == place.url:
            name = f"'{place.label}'"
        else:
            name = f"'{place.label}' ({place.url})"
        if not is_sent:
            lines.append(f"'gitcp push' sends prompts and transcripts to {name}; gitcp.push is off")
        elif own and own.url == place.url:
            lines.append(f"each 'git push' sends prompts and transcripts to {name}, too")
        else:
            lines.append(f"'git push' to {name} sends prompts and transcripts there, too")
    which = "a repository named here"
    if len(found) == 1:
        which = "that repository"
    stop = f"'gitcp push --forget-place {found[0].label}' stops it"
    return [*lines, f"whoever can read {which} can read them; {stop}"]


def need_destinations(repo: Repo) -> list[SharedPlace]:
    """list_destinations(); raises Error if there is none."""
    found = list_destinations(repo)
    if found:
        return found
    advice = f"'gitcp push --to {find_usual_remote(repo) or '<remote>'}' sets one"
    configured = read_destination(repo)
    if configured == NONE:
        raise Error(f"gitcp.remote is 'none', so checkpoints stay here; {advice}")
    if configured:
        raise Error(f"gitcp.remote names '{configured}', which is not a remote; {advice}")
    raise Error(f"no destination is set for checkpoints; {advice}")


def _list_routes(repo: Repo, names: Iterable[str], urls: Iterable[str] = ()) -> list[_Route]:
    """A route for each URL of these remotes to which git pushes, then for each of these URLs.

    git itself resolves them, each as the only URL of a remote that one command knows.
    """
    wanted: list[tuple[str, str, str]] = []
    for name in names:
        key = "url"
        if repo.config.get_all(f"remote.{name}.pushurl"):
            key = "pushurl"
        wanted += [(name, key, url) for url in repo.config.get_all(f"remote.{name}.{key}") if url]
    wanted += [("", "url", url) for url in urls]
    options: list[str] = []
    for number, (_, key, url) in enumerate(wanted):
        options += _define(f"{_ONCE}-{number}", key, url)
    pushes, fetches = _read_remotes(repo, options)
    routes: list[_Route] = []
    for number, (name, key, url) in enumerate(wanted):
        once = f"{_ONCE}-{number}"
        for push in pushes.get(once, []):
            # With url.X.pushInsteadOf git pushes only to those URLs of a remote that it changes.
            if not name or push in pushes.get(name, []):
                routes.append(_Route(name, key, url, push, "".join(fetches.get(once, []))))
    return routes


def _define(name: str, key: str, url: str) -> tuple[str, ...]:
    """Options of git for a remote with this URL alone."""
    fetched = ("-c", f"remote.{name}.url={url}")
    if key == "pushurl":
        return (*fetched, "-c", f"remote.{name}.pushurl={url}")
    return fetched


def _read_remotes(
    repo: Repo, options: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """(remote -> where a push goes, remote -> where a fetch goes)."""
    pushes: dict[str, list[str]] = {}
    fetches: dict[str, list[str]] = {}
    _, out = repo.git.run(*options, "remote", "-v")
    for line in decode_lines(out):
        name, _, about = line.partition("\t")
        if about.endswith(" (push)"):
            pushes.setdefault(name, []).append(about.removesuffix(" (push)"))
        elif " (fetch)" in about:  # which a partial clone's filter may follow
            fetches.setdefault(name, []).append(about.rpartition(" (fetch)")[0])
    return pushes, fetches


def _build_places(repo: Repo, routes: Sequence[_Route]) -> list[SharedPlace]:
    counts = Counter(route.remote for route in routes)
    return [_build_place(repo, route, counts[route.remote] == 1) for route in routes]


def _build_place(repo: Repo, route: _Route, is_sole: bool) -> SharedPlace:
    """The place at the end of a route; is_sole: it is the only one of its remote."""
    url = name_url(repo, route.push)
    label = clean_url(route.configured)
    address = route.configured
    options: tuple[str, ...] = ()
    if route.remote and is_sole:
        label = route.remote
        address = route.remote
    elif route.remote:
        address = _ONCE
        options = route.options
    source = address
    if route.fetch != route.push:
        source = ""
        for other in _list_routes(repo, [], [route.push]):
            if other.fetch == route.push:
                source = route.push
    elif route.key == "pushurl" and is_sole:
        source = route.configured
    return SharedPlace(url, label, address, source, options)
