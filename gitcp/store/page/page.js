"use strict";
// The page without this script is complete but for what is folded: turns and files are kept
// compressed and are made on demand.  All text goes in as text, nothing of it as markup.

const chunks = JSON.parse(document.getElementById("chunks").textContent);
const unpacked = new Map(); // chunk number -> value, once it is there
const status = document.getElementById("status");

async function unpack(number) {
  if (!unpacked.has(number)) {
    const bytes = Uint8Array.from(atob(chunks[number]), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(number, JSON.parse(await new Response(stream).text()));
  }
  return unpacked.get(number);
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function diffOf(lines) {
  const pre = element("pre");
  for (const [sign, text] of lines) {
    pre.append(element("span", sign === "+" ? "put" : "took", `${sign} ${text}\n`));
  }
  return pre;
}

function partOf(part) {
  if (part.kind === "answer") return element("p", "", part.text);
  const folded = element("details", "call");
  const title = element("summary");
  title.append(element("span", "number", part.name), ` ${part.path || ""}`);
  folded.append(title);
  if (part.diff) folded.append(diffOf(part.diff));
  if (part.given) folded.append(element("pre", "", part.given));
  if (part.result) folded.append(element("h4", "soft", "Result"), element("pre", "", part.result));
  if (part.task) {
    const below = element("div", "task");
    below.append(element("h4", "soft", "Subagent"), ...part.task.map(partOf));
    folded.append(below);
  }
  return folded;
}

function rowOf(file, row, number) {
  const [author, tokens] = row;
  const who = file.authors[author];
  const made = element("tr");
  made.id = `${file.id}-${number}`;
  made.tabIndex = -1;
  made.dataset.who = who.prompt ? `${who.label}: ${who.prompt}` : who.label;
  made.append(element("td", "n", String(number)), element("td", `who ${who.color}`, who.label));
  const code = element("td");
  for (const [kind, text] of tokens) code.append(kind ? element("span", kind, text) : text);
  made.append(code);
  return made;
}

function tableOf(file) {
  const table = element("table", "code");
  const body = element("tbody");
  body.append(...file.rows.map((row, n) => rowOf(file, row, n + 1)));
  table.append(body);
  return table;
}

function fill(folded, values) {
  if (folded.dataset.filled) return;
  folded.dataset.filled = "1";
  const value = values[Number(folded.dataset.index)];
  const body = element("div", "body");
  if (value.rows) body.append(tableOf(value));
  else body.append(...value.map(partOf));
  folded.append(body);
}

async function unfold(folded) {
  if (folded.dataset.chunk) fill(folded, await unpack(Number(folded.dataset.chunk)));
}

const folded = [...document.querySelectorAll("details[data-chunk]")];
for (const one of folded) {
  one.addEventListener("toggle", () => { if (one.open) unfold(one); });
}

// Links to a turn, a commit, a line: unfold what they lead to.
async function follow() {
  const name = decodeURIComponent(location.hash.slice(1));
  const holder = folded.find((one) => name === one.id || name.startsWith(`${one.id}-`));
  if (holder) {
    holder.open = true;
    await unfold(holder);
  }
  const target = document.getElementById(name);
  if (!target) return;
  target.scrollIntoView();
  (target.querySelector("summary") || target).focus();
}
addEventListener("hashchange", follow);
if (location.hash) follow();

// The prompt behind a line, on hover and on focus.
function tell(event) {
  const row = event.target.closest?.("tr[data-who]");
  if (row) status.textContent = row.dataset.who;
}
document.addEventListener("mouseover", tell);
document.addEventListener("focusin", tell);

// Search over prompts, paths and messages.
const query = document.getElementById("query");
const found = [...document.querySelectorAll("[data-find]")];
function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const one of found) {
    const text = one.dataset.find.toLowerCase();
    const match = words.every((word) => text.includes(word));
    one.classList.toggle("hidden", !match);
    count += match;
  }
  status.textContent = words.length ? `${count} of ${found.length} found` : "";
}
query.addEventListener("input", search);

// The keyboard: arrows from one summary or line to the next, / to search, Escape back.
function move(step) {
  const here = document.activeElement;
  const row = here?.closest?.("tr[data-who]");
  const among = row
    ? [...row.parentElement.children]
    : [...document.querySelectorAll("details[data-chunk]:not(.hidden) > summary")];
  const at = among.indexOf(row || here);
  const next = among[at < 0 ? (step > 0 ? 0 : among.length - 1) : at + step];
  if (next) next.focus();
  return Boolean(next);
}
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    query.value = "";
    search();
    const open = document.activeElement?.closest?.("details[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    } else {
      document.activeElement?.blur?.();
    }
  } else if (event.target === query) {
    if (event.key === "Enter") move(1);
  } else if (event.key === "/") {
    event.preventDefault();
    query.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (move(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    const row = document.activeElement?.closest?.("details")?.querySelector("tr[data-who]");
    if (row && event.key === "ArrowRight") row.focus();
  }
});

// Printing unfolds: unpacked while nobody waits, then made at once when the printer asks.
async function prepare(number = 0) {
  if (number >= chunks.length) return;
  await unpack(number);
  (globalThis.requestIdleCallback || setTimeout)(() => prepare(number + 1));
}
addEventListener("load", () => setTimeout(prepare, 1000));
addEventListener("beforeprint", () => {
  for (const one of folded) {
    const values = unpacked.get(Number(one.dataset.chunk));
    if (values) fill(one, values);
  }
  for (const one of document.querySelectorAll("details")) {
    if (!one.open) one.dataset.printed = "1";
    one.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const one of document.querySelectorAll("details[data-printed]")) {
    delete one.dataset.printed;
    one.open = false;
  }
});
document.documentElement.dataset.ready = "1";
