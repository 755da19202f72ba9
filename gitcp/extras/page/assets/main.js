// What is shown, and the address that shows the same again.

let page = null;
const chosen = { who: "", turn: "" }; // whose hunks and turns alone are shown
let here = ""; // the id that the address leads to

function addressOf(id) {
  const parts = new URLSearchParams();
  if (query.value.trim()) parts.set("q", query.value.trim());
  if (chosen.who) parts.set("who", chosen.who);
  if (chosen.turn) parts.set("turn", chosen.turn);
  const rest = parts.toString();
  const hash = rest ? `${id ? `at=${encodeURIComponent(id)}&` : ""}${rest}` : id;
  return `${location.href.replace(/#.*/s, "")}#${hash}`;
}

function remember(id = here, push = false) {
  here = id;
  history[push ? "pushState" : "replaceState"](null, "", addressOf(id));
}

function choose(who, turn = "") {
  Object.assign(chosen, { who, turn });
  for (const button of document.querySelectorAll("[data-who]")) {
    button.setAttribute("aria-pressed", String(button.dataset.who === who));
  }
  const note = document.getElementById("chosen");
  const about = turn && page.turns.find((one) => one.id === turn);
  const words = about ? `Hunks of one prompt: ${about.line}` : "";
  note.replaceChildren(...(who ? [make("span", { text: words || "Hunks of one author" }),
    make("button", { type: "button", class: "quiet", text: "Show all", click: () => choose("") })]
    : []));
  showFiles();
  showTurns();
  if (lookup) search();
  remember("");
  if (turn) document.getElementById("changes").scrollIntoView();
}

// Fill what holds an id, and bring it into view; false where there is no such thing.
function reveal(id) {
  const line = /^(file-[0-9a-f]+)-(old)?(\d+)$/.exec(id);
  if (document.querySelector(`#files > [id="${CSS.escape(line ? line[1] : id)}"][hidden]`)) {
    filter.value = "";
    filterFiles();
  }
  const node = document.getElementById(line ? line[1] : id);
  const group = document.querySelector(`[data-commits~="${CSS.escape(id)}"]`);
  if (group) fill(group);
  if (!node && !group) return false;
  if (node?.classList.contains("block")) fill(node);
  node?.querySelector(".path[aria-expanded=false]")?.click();
  const parts = line ? [...node.querySelectorAll(".block[data-new]")] : [];
  const part = parts.find(({ dataset }) => {
    const [first, last] = dataset[line[2] || "new"].split(" ").map(Number);
    return line[3] >= first && line[3] <= last;
  });
  if (part) fill(part);
  const found = document.getElementById(id);
  const target = found?.closest("tr") || found || part || node;
  const place = { block: line ? "center" : "start" };
  target.scrollIntoView(place);
  fillNear(); // which may move it
  target.scrollIntoView(place);
  document.querySelector(".here")?.classList.remove("here");
  target.classList.add("here");
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  return true;
}

function go(id, push = true) {
  const call = places.get(id);
  const turn = call?.turn || page.turns.find((one) => one.id === id);
  if (turn) openTurn(turn, call ? id : "");
  else if (!reveal(id)) return;
  remember(id, push);
}

function follow() {
  const words = decodeURIComponent(location.hash.slice(1));
  const parts = new URLSearchParams(words.includes("=") ? location.hash.slice(1) : "");
  const before = chosen.who + chosen.turn;
  const id = words.includes("=") ? parts.get("at") || "" : words;
  query.value = parts.get("q") || query.value;
  if (before !== (parts.get("who") || "") + (parts.get("turn") || "")) {
    choose(parts.get("who") || "", parts.get("turn") || "");
  }
  search();
  results.hidden = true;
  here = id;
  if (id) go(id, false);
}

function goBack() {
  drawer.hidden = true;
  query.value = "";
  follow();
}

function showCommits() {
  const holder = document.getElementById("log");
  holder.replaceChildren();
  for (let at = 0; at < page.commits.length; at += 20) {
    const part = page.commits.slice(at, at + 20);
    const ids = part.map((commit) => `commit-${commit.oid}`).join(" ");
    holder.append(block(make("div", { class: "block", data: { commits: ids } }), part.length * 96,
      () => part.map(commitEntry)));
  }
}

function commitEntry(commit) {
  const turns = commit.turns.map((id) => page.turns.find((turn) => turn.id === id));
  const files = commit.files.slice(0, 8).map(([path, id]) =>
    make("li", {}, id ? make("a", { href: `#${id}`, text: path }) : path));
  if (commit.files.length > 8) {
    files.push(make("li", { class: "soft", text: `and ${commit.files.length - 8} more` }));
  }
  const name = make("code", { text: commit.oid.slice(0, 10), title: commit.oid });
  const ids = commit.checkpoints.flatMap((id) => [" ", copied(id, make("code", { text: id }))]);
  return make("article", { class: "commit", id: `commit-${commit.oid}`, tabindex: "-1" },
    make("h3", { text: commit.subject }),
    make("p", { class: "soft" },
      commit.link ? make("a", { href: commit.link, rel: "noreferrer noopener" }, name)
        : copied(commit.oid, name),
      ` ${commit.author}, `, when(commit.time), ...ids,
      ...commit.names.map((one) => make("span", { class: "tag", text: one }))),
    commit.bar.length ? bar(commit.bar, words(commit.bar)) : "",
    turns.length ? make("p", {}, ...turns.flatMap((turn) => [make("a", { href: `#${turn.id}` },
      mark({ ...page.sessions[turn.session],
        mark: `${page.sessions[turn.session].mark}${turn.number}` }), turn.line), " "])) : "",
    make("ul", { class: "paths" }, ...files));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !page) return;
  const id = decodeURIComponent((link.getAttribute("href")).slice(1));
  if (link.dataset.hit) current = Number(link.dataset.hit);
  event.preventDefault();
  results.hidden = true;
  go(id);
});
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("#search")) results.hidden = true;
});
for (const button of document.querySelectorAll("[data-who]")) {
  button.addEventListener("click",
    () => choose(button.dataset.who === chosen.who ? "" : button.dataset.who));
}
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = getComputedStyle(root).getPropertyValue("--dark").trim() === "1";
  root.dataset.theme = dark ? "light" : "dark";
});

const keys = document.getElementById("keys");
document.getElementById("help").addEventListener("click", () => keys.showModal());

// The file in which the focus is, or that the window's top shows.
function currentFile() {
  const nodes = [...document.querySelectorAll("#files > .file:not([hidden])")];
  const node = nodes.find((one) => one.contains(document.activeElement)) ||
    nodes.find((one) => one.getBoundingClientRect().bottom > 90);
  return page.files.find((file) => file.id === node?.id);
}

function escape() {
  if (!results.hidden) results.hidden = true;
  else if (!closeTurn() && lookup) {
    query.value = "";
    search();
    remember();
  }
}

// From a file, a turn or a commit to the next one.
function stepAlong(by) {
  const all = [...document.querySelectorAll("#files > :not([hidden]), #turns > *")];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  if (!next) return;
  fill(next);
  next.scrollIntoView({ block: "start" });
  next.focus({ preventScroll: true });
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !page || keys.open) return;
  const typed = event.target.matches?.("input:not([type=checkbox]), textarea");
  const file = "xv".includes(event.key) && !typed && currentFile();
  if (event.key === "Escape" && event.target === filter) {
    filter.value = "";
    filterFiles();
  } else if (event.key === "Escape") escape();
  else if (event.target === query && event.key === "Enter") step(event.shiftKey ? -1 : 1);
  else if (typed) return;
  else if (event.key === "/") query.focus();
  else if (event.key === "n") step(1);
  else if (event.key === "N") step(-1);
  else if (event.key === "j") stepAlong(1);
  else if (event.key === "k") stepAlong(-1);
  else if (event.key === "f") filter.focus();
  else if (event.key === "?") keys.showModal();
  else if (event.key === "x" && file) foldFile(file, !isFolded(file));
  else if (event.key === "v" && file) tickSeen(file, !seen.has(file.stamp));
  else return;
  event.preventDefault();
});

async function begin() {
  for (const one of document.querySelectorAll("noscript")) one.remove();
  const packed = document.getElementById("index");
  page = await unpack(JSON.parse(packed.textContent));
  packed.remove();
  showFiles();
  showTurns();
  showCommits();
  showTimeline();
  addEventListener("resize", showTimeline);
  addEventListener("popstate", goBack);
  document.documentElement.dataset.ready = "shown";
  await unpackAll();
  for (const turn of page.turns) place(valueOf(turn).parts, turn);
  if (location.hash) follow();
  document.documentElement.dataset.ready = "all";
  fillIdly();
}
const begun = begin();
