// Sessions as lanes, their turns as blocks, commits beneath: long pauses are drawn shorter.

const LANE = 34; // pixels
const zoom = { from: 0, size: 1000 };
const card = document.getElementById("card");
const chart = document.getElementById("chart");
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const narrow = matchMedia("(max-width: 50rem)");
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

function at(x, width) { return 10 + (x - zoom.from) / zoom.size * (width - 20); }

function timeAt(x) {
  const { axis } = page;
  const n = Math.max(1, axis.findIndex(([place]) => place >= x));
  const [[left, early], [right, late]] = [axis[n - 1], axis[n] || axis[n - 1]];
  return right > left ? early + (late - early) * (x - left) / (right - left) : early;
}

function ruler(width, height) {
  const made = [];
  const span = timeAt(zoom.from + zoom.size) - timeAt(zoom.from);
  const hours = span < 1800 ? exact : clock;
  let before = "";
  for (let x = 55; x < width - 30; x += 130) {
    const date = new Date(timeAt(zoom.from + (x - 10) / (width - 20) * zoom.size) * 1000);
    const text = day.format(date) === before ? hours.format(date)
      : `${day.format(date)} ${hours.format(date)}`;
    before = day.format(date);
    made.push(draw("line", { class: "grid", x1: x, x2: x, y1: 20, y2: height }),
      draw("text", { x, y: 12, "text-anchor": "middle", text }));
  }
  return made;
}

function turnMark(turn, y, width) {
  const session = page.sessions[turn.session];
  const left = at(turn.x, width);
  const size = Math.max(4, turn.width / zoom.size * width);
  const link = draw("a", { href: `#${turn.id}`,
    "aria-label": `${session.name}, prompt ${turn.number}: ${turn.line}` },
  draw("rect", { class: session.color, x: left, y: y + 6, width: size, height: 18, rx: 3 }),
  size > 12 && turn.ticks.length && draw("path", { class: "tick",
    d: turn.ticks.map((tick) => `M${at(tick, width)} ${y + 16}v8`).join("") }));
  tells(link, () => [make("b", { text: `${session.name}, prompt ${turn.number}` }),
    make("p", { text: turn.line }), make("p", { class: "soft" }, when(turn.start)),
    make("p", { class: "soft", text: turn.facts }),
    make("p", { class: "soft", text: filesOf(turn) })]);
  return link;
}

function filesOf(turn) {
  const files = page.files.filter((file) => file.turns.includes(turn.id));
  if (!files.length) return "";
  const names = files.slice(0, 3).map((file) => file.path).join(", ");
  return `${count(files.length, "file")}: ${names}${files.length > 3 ? ", …" : ""}`;
}

function commitMark(commit, y, width) {
  const x = at(commit.x, width);
  const link = draw("a", { href: `#commit-${commit.oid}`,
    "aria-label": ["Commit", commit.names.join(", "), commit.subject].filter(Boolean).join(" ") },
    draw("path", { class: "commit", d: `M${x} ${y + 5}l7 9l-7 9l-7 -9z` }));
  tells(link, () => [make("b", { text: commit.subject }), make("p", { class: "soft" },
    `${commit.author}, `, when(commit.time)),
  make("p", { class: "soft", text: commit.names.join(", ") }),
  make("p", { class: "soft", text: words(commit.bar) })]);
  return link;
}

// The names of branches and tags, under their commits; one for which there is no room is told with
// its commit.
function nameMarks(commits, top, width) {
  const ends = [];
  return commits.flatMap(({ x, lane, names }) => {
    const text = names.join(", ");
    const size = Math.min(width, 7 * text.length);
    const left = Math.min(Math.max(2, at(x, width) - size / 2), Math.max(2, width - size));
    if (!text || (ends[lane] || []).some(([from, to]) => left < to && left + size > from)) return [];
    (ends[lane] ||= []).push([left - 6, left + size + 6]);
    return [draw("text", { x: left, y: top + lane * LANE + 33, text })];
  });
}

// From a commit to those it was made on, where they are on the page.
function descent(commit, top, width) {
  const [x, y] = [at(commit.x, width), top + commit.lane * LANE + 14];
  const curves = commit.from.map((n) => {
    const parent = page.commits[n];
    const [left, end] = [at(parent.x, width), top + parent.lane * LANE + 14];
    return commit.lane > parent.lane ? `M${x} ${y}H${Math.min(x, left + LANE)}L${left} ${end}`
      : `M${x} ${y}L${Math.max(left, x - LANE)} ${end}H${left}`;
  });
  return curves.length ? draw("path", { class: "descent", d: curves.join("") }) : "";
}

function tells(node, fill) {
  const show = () => {
    card.replaceChildren(...fill());
    card.hidden = false;
    const [box, around] = [node.getBoundingClientRect(), chart.getBoundingClientRect()];
    const left = Math.min(Math.max(0, box.left - around.left), around.width - card.offsetWidth);
    card.style.left = `${Math.max(0, left) + chart.offsetLeft}px`;
    card.style.top = `${box.bottom - around.top + chart.offsetTop + 6}px`;
  };
  const hide = () => { card.hidden = true; };
  for (const name of ["mouseenter", "focus"]) node.addEventListener(name, show);
  for (const name of ["mouseleave", "blur"]) node.addEventListener(name, hide);
}

// What stands outside of the part that is shown is not made.
function isSeen(x, width) { return x + width >= zoom.from && x <= zoom.from + zoom.size; }

// On a narrow screen it is a list.
function listed() {
  const turns = page.turns.filter((turn) => turn.start).map((turn) => {
    const session = page.sessions[turn.session];
    const author = { ...session, mark: `${session.mark}${turn.number}` };
    return [turn.start, turn.id, [mark(author), ` ${turn.line}`], turn.start];
  });
  // A commit's time is a whole second: what it holds was there before that second ended.
  const commits = page.commits.map((one) =>
    [one.time + 0.999, `commit-${one.oid}`, ["◆ ", one.subject], one.time]);
  const all = [...turns, ...commits.reverse()].sort((one, other) => one[0] - other[0]).slice(-200);
  return make("ol", {}, ...all.map(([, id, about, time]) => make("li", {},
    make("a", { href: `#${id}` }, ...about), " ",
    make("span", { class: "soft small" }, when(time)))));
}

function charted(lanes, height) {
  const width = chart.clientWidth || 800;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": "Sessions as lanes, turns as blocks, commits beneath" }, ...ruler(width, height));
  lanes.forEach((session, n) => {
    const y = 24 + n * LANE;
    picture.append(draw("line", { class: "lane", x1: 0, x2: width, y1: y + 15, y2: y + 15 }),
      ...page.turns.filter((turn) => turn.session === session.at && turn.start &&
        isSeen(turn.x, turn.width)).map((turn) => turnMark(turn, y, width)));
  });
  const y = 24 + lanes.length * LANE;
  const commits = page.commits.filter((one) => isSeen(one.x, 0)).slice(0, 400);
  picture.append(...commits.map((one) => descent(one, y, width)).filter(Boolean),
    ...commits.map((one) => commitMark(one, y + one.lane * LANE, width)),
    ...nameMarks(commits, y, width));
  return picture;
}

function showTimeline() {
  const lanes = page.sessions.filter((session) => session.turns);
  const branches = page.commits.reduce((most, one) => Math.max(most, one.lane), 0) + 1;
  const height = 28 + (lanes.length + branches) * LANE;
  const drawn = chart.firstChild && !blocks.has(chart);
  block(chart, narrow.matches ? 400 : height,
    () => [narrow.matches ? listed() : charted(lanes, height)]);
  if (drawn) fill(chart);
  document.getElementById("lanes").replaceChildren(...lanes.map((session) =>
    make("li", {}, mark(session), make("span", { text: session.name }))),
  ...Array.from({ length: branches }, (_, lane) => make("li", {},
    make("span", { text: lane ? branchOf(lane) : "Commits" }))));
}

function branchOf(lane) {
  const names = page.commits.flatMap((one) => one.lane === lane ? one.names : []);
  return names.length ? names.join(", ") : "Another branch";
}

function zoomTo(factor, around) {
  const middle = zoom.from + around * zoom.size;
  zoom.size = Math.min(1000, Math.max(5, zoom.size * factor));
  zoom.from = Math.min(1000 - zoom.size, Math.max(0, middle - around * zoom.size));
  showTimeline();
}

function moveBy(part) {
  zoom.from = Math.min(1000 - zoom.size, Math.max(0, zoom.from + part * zoom.size));
  showTimeline();
}

chart.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.shiftKey && zoom.size === 1000 && event.deltaY > 0) return;
  event.preventDefault();
  if (event.shiftKey) moveBy(Math.sign(event.deltaY) * 0.1);
  else zoomTo(event.deltaY > 0 ? 1.25 : 0.8,
    (event.clientX - chart.getBoundingClientRect().left) / chart.clientWidth);
}, { passive: false });
chart.addEventListener("keydown", (event) => {
  const steps = { "+": () => zoomTo(0.7, 0.5), "=": () => zoomTo(0.7, 0.5),
    "-": () => zoomTo(1.4, 0.5), ArrowLeft: () => moveBy(-0.2), ArrowRight: () => moveBy(0.2),
    0: () => zoomTo(1000, 0.5) };
  if (!steps[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  steps[event.key]();
});
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => zoomTo(Number(button.dataset.zoom), 0.5));
}
