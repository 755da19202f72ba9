// The change: files, their hunks, and beside each hunk who wrote it and what was asked.

const SEGMENT = 40; // rows that are filled and let go of together
const LINE = 21; // pixels of a row, about
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

function fileTitle(file, body) {
  const [folder, name] = split(file.path);
  const path = make("button", { type: "button", class: "path", "aria-expanded": !file.folded + "",
    click: () => {
      file.folded = !file.folded;
      path.setAttribute("aria-expanded", String(!file.folded));
      body.classList.toggle("folded", file.folded);
    } }, make("span", { class: "soft", text: folder }), name);
  const state = file.old ? `renamed from ${file.old}` : file.state;
  const actions = make("span", { class: "actions" });
  if (file.state !== "deleted") {
    actions.append(copier("Copy why", () => `gitcp why ${quoted(file.path)}:${nearLine(file)}`));
  }
  actions.append(copier("Copy link", () => addressOf(file.id)));
  if (file.link) actions.append(make("a", { href: file.link, text: "Forge",
    rel: "noreferrer noopener" }));
  return make("header", {}, make("h3", {}, path), state && make("span", { class: "tag", text: state }),
    sizes(file), bar(file.bar, words(file.bar)), actions);
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
  return block(node, 70 + Math.min(file.rows, 4 * SEGMENT) * LINE, () => {
    const value = valueOf(file);
    if (!value) return null;
    const body = make("div", { class: file.folded ? "body folded" : "body" },
      ...bodyOf(file, value));
    return [fileTitle(file, body), body];
  });
}

function showFiles() {
  const shown = page.files.filter(isOfChosen);
  const holder = document.getElementById("files");
  showBlocks(holder, shown.map(fileBlock));
  if (!shown.length) holder.append(make("p", { class: "soft", text: "No file of this author" }));
  const list = document.getElementById("tree");
  showBlocks(list, []);
  for (let at = 0; at < shown.length; at += 20) {
    const part = shown.slice(at, at + 20);
    list.append(block(make("ul", { class: "block" }), part.length * 26, () => part.flatMap(treeEntry)));
  }
}

function treeEntry(file, n, part) {
  const [folder, name] = split(file.path);
  const authors = make("span", { class: "marks" }, ...file.bar.slice(0, 4).map((one) =>
    make("span", { class: `dot ${one.color}`, title: `${one.name} ${one.lines}` })));
  const entry = make("li", {}, make("a", { href: `#${file.id}`, title: file.path },
    make("span", { class: "name", text: name }),
    make("span", { class: "soft sizes",
      text: `+${file.plus}${file.minus ? ` −${file.minus}` : ""}` }), authors));
  if (n && split(part[n - 1].path)[0] === folder) return [entry];
  return [folder && make("li", { class: "folder", text: folder }), entry].filter(Boolean);
}

wide.addEventListener("change", () => showFiles());
