// Search in everything that was unpacked: what is found is kept in the address.

const MANY = 2000; // hits; what is found oftener is no search
const query = document.getElementById("query");
const results = document.getElementById("results");
const tally = document.getElementById("tally");
let hits = [];
let current = -1;
let lookup = ""; // what hits are of

function* lines(value) {
  for (const hunk of value.hunks) {
    if (!isChosen(value, hunk)) continue;
    for (const row of numbered(hunk)) {
      yield [row.new || `old${row.old}`, row.runs.map((run) => run[1]).join("")];
    }
  }
}

function* wordsOf(parts) {
  for (const part of parts) {
    if (part.image !== undefined) continue;
    if (part.text) {
      yield ["answer", part.place, textOf(part.text)];
      continue;
    }
    yield ["call", part.id, `${part.name} ${part.path || ""} ${part.given || ""} ` +
      (part.diff || []).map((row) => row[1]).join("\n")];
    if (part.result) yield ["result", part.id, resultOf(part)];
    if (part.task) yield* wordsOf(part.task);
  }
}

function* everyText() {
  for (const file of page.files) yield ["path", file.id, file.path, file];
  for (const turn of page.turns) {
    const value = valueOf(turn);
    if (!value) continue;
    yield ["prompt", turn.id, textOf(value.prompt), turn];
    for (const [kind, id, text] of wordsOf(value.parts)) yield [kind, id || turn.id, text, turn];
  }
  for (const commit of page.commits) yield ["commit", `commit-${commit.oid}`, commit.subject, commit];
  for (const file of page.files) {
    const value = valueOf(file);
    if (!value) continue;
    for (const [number, text] of lines(value)) yield ["code", `${file.id}-${number}`, text, file];
  }
}

// `file:` and a part of a path among the words: only what is of such files.
const ONLY = /(?:^|\s)file:("[^"]*"|\S+)/;
let only = "";

function isOf(kind, entry) {
  if (!only) return true;
  const has = (path) => path.toLowerCase().includes(only);
  if (kind === "path" || kind === "code") return has(entry.path);
  if (kind === "commit") return entry.files.some(([path]) => has(path));
  return page.files.some((file) => file.turns.includes(entry.id) && has(file.path));
}

function allowed(kind, entry) {
  if (!isOf(kind, entry)) return false;
  if (!chosen.who) return true;
  if (kind === "path" || kind === "code") return isOfChosen(entry);
  if (chosen.turn) return entry.id === chosen.turn;
  return entry.session !== undefined && page.sessions[entry.session].id === chosen.who;
}

function search() {
  const typed = query.value.toLowerCase();
  only = (ONLY.exec(typed)?.[1] || "").replace(/"/g, "");
  const wanted = typed.replace(ONLY, " ").trim();
  lookup = wanted;
  hits = [];
  current = -1;
  if (wanted.length > 1) {
    for (const [kind, id, text, entry] of everyText()) {
      const found = text.toLowerCase().indexOf(wanted);
      if (found < 0 || !allowed(kind, entry)) continue;
      hits.push({ kind, id, entry, text: around(text, found, wanted.length) });
      if (hits.length === MANY) break;
    }
  }
  showHits(wanted.length > 1);
  highlight();
}

function around(text, found, size) {
  const from = Math.max(0, found - 40);
  return [`${from ? "…" : ""}${text.slice(from, found)}`, text.slice(found, found + size),
    text.slice(found + size, found + size + 80)];
}

const KINDS = { path: "path", prompt: "prompt", answer: "answer", call: "tool use",
  result: "tool result", commit: "commit", code: "code line" };

function showHits(asked) {
  results.replaceChildren();
  results.hidden = !asked;
  tally.textContent = asked ? count(hits.length, "hit") : "";
  const sums = new Map();
  for (const hit of hits) sums.set(hit.kind, (sums.get(hit.kind) || 0) + 1);
  const told = [...sums].map(([kind, sum]) => count(sum, KINDS[kind])).join(", ");
  say(asked ? told || "Nothing was found" : "");
  if (!asked) return;
  results.append(make("p", { class: "soft",
    text: `${told ? `${told}. Enter or n, N go from one to the next.` : "Nothing was found."}${
      only ? "" : " With file:name only what is of such files."}` }));
  const list = make("ol");
  for (const [n, hit] of hits.slice(0, 100).entries()) {
    const [before, word, after] = hit.text;
    list.append(make("li", {}, make("a", { href: `#${hit.id}`, data: { hit: n } },
      make("span", { class: "tag", text: KINDS[hit.kind] }),
      make("span", { class: "soft", text: hit.entry.path || hit.entry.line || "" }),
      make("span", { class: "text" }, before, make("mark", { text: word }), after))));
  }
  results.append(list);
  if (hits.length > 100) results.append(make("p", { class: "soft",
    text: `and ${hits.length - 100} more` }));
}

function step(by) {
  if (!hits.length) return;
  current = (current + by + hits.length) % hits.length;
  tally.textContent = `${current + 1} of ${hits.length}`;
  results.hidden = true;
  go(hits[current].id);
}

// Highlights lie over the text; the page's elements stay as they are.
const inks = globalThis.CSS?.highlights;
function rangesIn(node) {
  const ranges = [];
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const words = text.data.toLowerCase();
    for (let found = words.indexOf(lookup); found >= 0; found = words.indexOf(lookup, found + 1)) {
      const range = new Range();
      range.setStart(text, found);
      range.setEnd(text, found + lookup.length);
      ranges.push(range);
    }
  }
  return ranges;
}

// The first place in a node where what is searched stands, as far as boxes must scroll for it.
function bringHit(node) {
  const [range] = lookup.length > 1 && node ? rangesIn(node) : [];
  for (let box = range?.startContainer.parentElement; box && box !== document.body;
    box = box.parentElement) {
    if (box.scrollHeight <= box.clientHeight) continue;
    box.scrollTop += range.getBoundingClientRect().top - box.getBoundingClientRect().top -
      box.clientHeight / 3;
  }
}

function highlight() {
  if (!inks) return;
  inks.delete("found");
  filledSince.clear();
  if (lookup.length < 2) return;
  const made = rangesIn(document.getElementById("main"));
  inks.set("found", new Highlight(...made, ...rangesIn(drawer)));
}

let waiting = 0;
function highlightLater() {
  if (!inks || lookup.length < 2 || !filledSince.size || waiting) return;
  waiting = requestAnimationFrame(() => { waiting = 0; highlight(); });
}

let typing = 0;
query.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { search(); remember(); }, 120);
});
query.addEventListener("focus", () => { results.hidden = lookup.length < 2; });
