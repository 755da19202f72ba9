// The change: files, their hunks, and beside each hunk who wrote it and what was asked.

const SEGMENT = 40; // rows that are filled and let go of together
const LINE = 21; // pixels of a row, about
const LARGE = 400; // rows of a file that is folded at first
const wide = matchMedia("(min-width: 1100px)");

function code(runs) {
  return runs.map(([kind, text]) => kind ? make("span", { class: kind, text }) : text);
}

function cell(kind, ...children) { return make("td", { class: kind }, ...children); }

// Rows with their numbers: [sign, runs, writer] -> {sign, runs, writer, old, new}.
function numbered(hunk) {
  let { old, new: now } = hunk;
  return hunk.rows.map(([sign, runs, writer]) => ({
    sign, runs, writer,
    old: sign === "+" ? 0 : old++,
    new: sign === "-" ? 0 : now++,
  }));
}

// Side by side: what went stands beside what came in its place.
function paired(rows) {
  const pairs = [];
  let gone = [];
  for (const row of rows) {
    if (row.sign === "-") {
      const pair = [row, null];
      pairs.push(pair);
      gone.push(pair);
    } else if (row.sign === "+" && gone.length) {
      gone.shift()[1] = row;
    } else {
      if (row.sign === " ") gone = [];
      pairs.push([row.sign === " " ? row : null, row]);
    }
    if (row.sign === " ") gone = [];
  }
  return pairs;
}

function whoCell(row, before, writers) {
  const writer = row?.sign === "+" ? writers[row.writer] : null;
  if (!writer) return cell("who");
  const same = before?.sign === "+" && writers[before.writer].mark === writer.mark;
  const label = same ? "" : mark(writer);
  return set(cell(`who ${writer.color} is`, label), { title: writer.name });
}

// By its number in the file as it is, or as it was.
function idOf(file, row) { return `${file.id}-${row.new || `old${row.old}`}`; }

// The first and the last of numbers, 0 not counted; "" for none.
function ends(numbers) {
  const some = numbers.filter(Boolean);
  return some.length ? `${Math.min(...some)} ${Math.max(...some)}` : "";
}

function unified(file, row, before, writers) {
  const kind = { "+": "put", "-": "took", " ": "" }[row.sign];
  const line = make("tr", { class: kind, id: idOf(file, row) });
  line.append(whoCell(row, before, writers), cell("n", row.old || ""), cell("n", row.new || ""),
    cell("sign", row.sign), cell("code", ...code(row.runs)));
  return line;
}

function beside(file, pair, before, writers) {
  const [left, right] = pair;
  const line = make("tr", { id: idOf(file, right || left) });
  const went = left?.sign === "-" ? "took" : left ? "" : "none";
  const came = right?.sign === "+" ? "put" : right ? "" : "none";
  const number = set(cell(`n ${went}`, left?.old || ""), {
    id: went === "took" && right ? idOf(file, left) : "" });
  line.append(number, cell(`code ${went}`, ...code(left?.runs || [])),
    whoCell(right, before, writers), cell(`n ${came}`, right?.new || ""),
    cell(`code ${came}`, ...code(right?.runs || [])));
  return line;
}

function table(file, rows, before, writers, sides) {
  const body = make("tbody");
  rows.forEach((row, n) => {
    const last = n ? rows[n - 1] : before;
    body.append(sides ? beside(file, row, last?.[1], writers) : unified(file, row, last, writers));
  });
  return make("table", { class: sides ? "diff sides" : "diff" }, body);
}

// New or deleted as a whole: one column says it all.
function rowsOf(file, hunk) {
  const rows = numbered(hunk);
  const sides = wide.matches && rows.some((row) => row.sign === "-") &&
    rows.some((row) => row.sign !== "-");
  return { rows: sides ? paired(rows) : rows, sides };
}

function reasons(file, value, hunk) {
  if (!hunk.by.length) return [removal(value.took)];
  return hunk.by.map(([writer, lines]) => reason(file, value.writers[writer], lines));
}

// Who took a line is known of the commits of a file, not of the line.
function removal(took) {
  const who = took.flatMap((one, n) => [n ? " or " : " by ", mark(one), " ", make("b", { text: one.name })]);
  return make("p", { class: "why" }, "Only lines removed", ...who,
    took.length > 1 ? ": by which of them is not recorded" : "");
}

function reason(file, writer, lines) {
  const to = writer.call || writer.turn;
  const size = make("span", { class: "soft", text: count(lines, "line") });
  const about = [mark(writer), make("b", { text: writer.name })];
  if (writer.number) about.push(make("span", { class: "soft", text: `prompt ${writer.number}` }));
  if (writer.why) about.push(make("q", { text: writer.why }));
  if (!to) return make("p", { class: "why" }, ...spaced(...about, size));
  return make("p", { class: "why" }, ...spaced(make("a", { href: `#${to}`,
    title: "Open the turn that wrote this" }, ...spaced(...about)), size));
}

function fold(file, hidden, more, first, writers) {
  if (hidden < 1) return "";
  const row = make("p", { class: "fold" });
  const left = hidden - more.length;
  row.append(make("span", { class: "soft", text: `${count(hidden, "line")} not shown` }));
  if (more.length) {
    row.append(make("button", { type: "button", class: "quiet",
      text: left ? `Show ${more.length} of them` : `Show ${more.length === 1 ? "it" : "them"}`,
      click: () => {
        const rows = more.map((runs, n) => ({ sign: " ", runs, old: "", new: first + n }));
        row.replaceWith(table(file, rows, null, writers, false));
      } }));
  }
  return row;
}

function hunkOf(file, value, hunk) {
  const { rows, sides } = rowsOf(file, hunk);
  const made = [fold(file, hunk.hidden, hunk.more, hunk.new - hunk.more.length, value.writers)];
  made.push(make("div", { class: "whys" }, ...reasons(file, value, hunk)));
  for (let at = 0; at < rows.length; at += SEGMENT) {
    const part = rows.slice(at, at + SEGMENT);
    const before = at ? rows[at - 1] : null;
    const node = make("div", { class: "block scroll" });
    node.dataset.new = ends(part.map((row) => sides ? row[1]?.new : row.new));
    node.dataset.old = ends(part.map((row) => sides ? row[0]?.old : row.old));
    made.push(block(node, part.length * LINE,
      () => [table(file, part, before, value.writers, sides)]));
  }
  return make("div", { class: "hunk" }, ...made);
}

function split(path) {
  const at = path.lastIndexOf("/") + 1;
  return [path.slice(0, at), path.slice(at)];
}

function isFolded(file) { return file.folded ?? (file.rows > LARGE || seen.has(file.stamp)); }

// What is folded is found by the browser's own search all the same.
function foldFile(file, folded) {
  file.folded = folded;
  const node = document.getElementById(file.id);
  node?.querySelector(".path")?.setAttribute("aria-expanded", String(!folded));
  const body = node?.querySelector(".body");
  if (body && folded) body.setAttribute("hidden", "until-found");
  else body?.removeAttribute("hidden");
}

function fileTitle(file) {
  const [folder, name] = split(file.path);
  const path = make("button", { type: "button", class: "path", "aria-expanded": !isFolded(file) + "",
    click: () => foldFile(file, !isFolded(file)) },
    make("span", { class: "soft", text: folder }), name);
  const state = file.old ? `renamed from ${file.old}` : file.state;
  const actions = make("span", { class: "actions" });
  if (file.state !== "deleted") {
    actions.append(copier("Copy why", () => `gitcp why ${quoted(file.path)}:${nearLine(file)}`));
  }
  actions.append(copier("Copy link", () => addressOf(file.id)));
  if (file.link) actions.append(make("a", { href: file.link, text: "Forge",
    rel: "noreferrer noopener" }));
  const tick = make("input", { type: "checkbox", data: { stamp: file.stamp },
    click: () => tickSeen(file, tick.checked) });
  tick.checked = seen.has(file.stamp);
  actions.append(make("label", { class: "seen" }, tick, " Seen"));
  return make("header", {}, make("h3", {}, path), state && make("span", { class: "tag", text: state }),
    sizes(file), bar(file.bar, words(file.bar)), actions);
}

// What was seen stays so in this browser, until the file is another one.
const SEEN = "gitcp-seen";
const KEPT = 5000; // files
const seen = new Set(readSeen());

function readSeen() {
  try {
    const stored = JSON.parse(localStorage.getItem(SEEN) || "[]");
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
  } catch {
    return []; // there is no storage, or not for us
  }
}

function tickSeen(file, ticked) {
  for (const one of readSeen()) seen.add(one); // of another window
  seen.delete(file.stamp);
  if (ticked) seen.add(file.stamp);
  try {
    localStorage.setItem(SEEN, JSON.stringify([...seen].slice(-KEPT)));
  } catch { /* it counts for this window */ }
  foldFile(file, ticked);
  showSeen();
}

function showSeen() {
  const number = page.files.filter((file) => seen.has(file.stamp)).length;
  document.getElementById("seen-count").textContent =
    `${number} of ${count(page.files.length, "file")} seen`;
  for (const link of document.querySelectorAll("#folders a")) {
    link.classList.toggle("done", seen.has(link.dataset.stamp));
  }
  for (const tick of document.querySelectorAll("#files .seen input")) {
    tick.checked = seen.has(tick.dataset.stamp);
  }
}

function quoted(path) { return /^[\w./-]+$/.test(path) ? path : `'${path.replace(/'/g, "'\\''")}'`; }

// The first line of a file that is seen, for a command about what is looked at.
function nearLine(file) {
  const rows = document.querySelectorAll(`[id^="${file.id}-"]:not([id^="${file.id}-old"])`);
  const seen = [...rows].find((row) => row.getBoundingClientRect().top > 90) || rows[0];
  return seen ? seen.id.slice(file.id.length + 1) : 1;
}

function isChosen(value, hunk) {
  return !chosen.who || hunk.by.some(([number]) => {
    const writer = value.writers[number];
    return chosen.turn ? writer.turn === chosen.turn : writer.who === chosen.who;
  });
}

function isOfChosen(file) {
  return !chosen.who || (chosen.turn ? file.turns.includes(chosen.turn)
    : file.bar.some((part) => part.who === chosen.who));
}

function bodyOf(file, value) {
  if (file.sizes) {
    const [before, after] = file.sizes;
    return [make("p", { class: "why soft", text: file.state === "new"
      ? `Binary, ${count(after, "byte")}`
      : `Binary, ${count(before, "byte")} before, ${count(after, "byte")} now` })];
  }
  const shown = value.hunks.filter((hunk) => isChosen(value, hunk));
  const made = shown.map((hunk) => hunkOf(file, value, hunk));
  if (!value.hunks.length) {
    made.push(make("p", { class: "why soft", text: "No line changed" }));
  } else if (shown.length < value.hunks.length) {
    made.push(make("p", { class: "why soft",
      text: `${count(value.hunks.length - shown.length, "hunk")} of others not shown` }));
  } else if (value.tail) {
    const { hidden, more } = value.tail;
    const last = value.hunks.at(-1);
    const next = last.new + last.rows.filter(([sign]) => sign !== "-").length;
    made.push(fold(file, hidden, more, next, value.writers));
  }
  if (value.left) {
    made.push(make("p", { class: "why soft", text: `${count(value.left, "further line")} left out` }));
  }
  return made.filter(Boolean);
}

function fileBlock(file) {
  const node = make("section", { class: "file block", id: file.id, tabindex: "-1",
    "aria-label": file.path });
  const height = isFolded(file) ? 45 : 70 + Math.min(file.rows, 4 * SEGMENT) * LINE;
  return block(node, height, () => {
    const value = valueOf(file);
    if (!value) return null;
    const body = make("div", { class: "body", hidden: isFolded(file) && "until-found" },
      ...bodyOf(file, value));
    body.addEventListener("beforematch", () => foldFile(file, false));
    return [fileTitle(file), body];
  });
}

function showFiles() {
  madeWide = wide.matches;
  const shown = page.files.filter(isOfChosen);
  const holder = document.getElementById("files");
  showBlocks(holder, shown.map(fileBlock));
  if (!shown.length) holder.append(make("p", { class: "soft", text: "No file of this author" }));
  document.getElementById("folders").replaceChildren(make("ul", {}, ...branch(shown, "")));
  filterFiles();
  showSeen();
}

// The entries of a folder: files stand sorted by path, so those of a folder stand together.
function branch(files, above) {
  const entries = [];
  for (let at = 0; at < files.length;) {
    const [folder] = files[at].path.slice(above.length).split("/");
    const inside = `${above}${folder}/`;
    const end = files.findIndex((file, n) => n >= at && !file.path.startsWith(inside));
    if (end === at) {
      entries.push(treeEntry(files[at], files[at].path.slice(above.length)));
      at += 1;
      continue;
    }
    const part = files.slice(at, end < 0 ? files.length : end);
    entries.push(folderOf(part, above));
    at += part.length;
  }
  return entries;
}

// Folders that have nothing but one folder stand on one line.
function folderOf(files, above) {
  let folder = above;
  do {
    const next = files[0].path.indexOf("/", folder.length) + 1;
    const longer = files[0].path.slice(0, next);
    if (!next || !files.every((file) => file.path.startsWith(longer))) break;
    folder = longer;
  } while (true);
  return make("li", { class: "folder" }, make("details", { open: true },
    make("summary", { text: folder.slice(above.length, -1) }), make("ul", {}, ...branch(files, folder))));
}

function treeEntry(file, name) {
  const authors = make("span", { class: "marks" }, ...file.bar.slice(0, 4).map((one) =>
    make("span", { class: `dot ${one.color}`, title: `${one.name} ${one.lines}` })));
  return make("li", {}, make("a", { href: `#${file.id}`, title: file.path,
    data: { stamp: file.stamp } },
  make("span", { class: "name", text: name }),
  make("span", { class: "soft sizes",
    text: `+${file.plus}${file.minus ? ` −${file.minus}` : ""}` }), authors));
}

const filter = document.getElementById("filter");
function isFiltered(path) { return !path.toLowerCase().includes(filter.value.trim().toLowerCase()); }

function filterFiles() {
  for (const node of document.querySelectorAll("#files > .file")) {
    node.hidden = isFiltered(node.getAttribute("aria-label"));
  }
  for (const link of document.querySelectorAll("#folders a")) {
    link.parentElement.hidden = isFiltered(link.title);
  }
  for (const folder of document.querySelectorAll("#folders .folder")) {
    folder.hidden = !folder.querySelector("li:not(.folder):not([hidden])");
  }
  fillNear();
}

filter.addEventListener("input", filterFiles);
document.getElementById("fold").addEventListener("click", ({ target }) => {
  const folds = target.textContent === "Fold all";
  for (const file of page.files) foldFile(file, folds);
  target.textContent = folds ? "Unfold all" : "Fold all";
});
document.getElementById("collapse").addEventListener("click", ({ target }) => {
  const folders = [...document.querySelectorAll("#folders details")];
  const open = !folders.some((one) => one.open);
  for (const one of folders) one.open = open;
  target.textContent = open ? "Collapse all folders" : "Expand all folders";
});
// Paper is narrower than the window, but what is on it was made before.
let madeWide = false;
wide.addEventListener("change", () => {
  if (!printing && wide.matches !== madeWide) showFiles();
});
