const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const files = all(".file");
const links = all("aside a");
const list = document.querySelector("aside");
let here = null;

// HTML that this page or its server brought, escaped as all of it; its scripts do not run.
function put(node, html) {
  const made = new DOMParser().parseFromString(html, "text/html");
  node.replaceWith(...made.body.childNodes);
}

function tellTimes(within) {
  const form = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  for (const one of all("time", within)) {
    one.textContent = new Date(one.dateTime).toLocaleString("en-GB", form).replace(",", "");
  }
}

// The files that do not stand in the page as they are.
async function unpack(node) {
  const bytes = Uint8Array.from(atob(node.textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const file = node.closest(".file");
  put(node, await new Response(stream).text());
  tellTimes(file);
}

async function unpackAll() {
  for (const node of all("script[type=z]")) {
    await unpack(node);
    await new Promise((done) => { setTimeout(done); });
  }
  root.dataset.whole = "";
}

function go(hunk) {
  if (!hunk) return;
  here?.classList.remove("here");
  here = hunk;
  here.classList.add("here");
  here.scrollIntoView({ block: "start" });
  (here.querySelector("summary") || here).focus({ preventScroll: true });
  const at = files.indexOf(here.closest(".file"));
  links.forEach((link, n) => link.classList.toggle("on", n === at));
  links[at].scrollIntoView({ block: "nearest" });
}

function move(step) {
  const hunks = all(".file:not(.seen) .hh");
  const at = hunks.indexOf(here);
  go(hunks[Math.max(0, Math.min(hunks.length - 1, at < 0 ? 0 : at + step))]);
}

function moveFile(step) {
  const open = files.filter((file) => file.querySelector(".hh"));
  const at = here ? open.indexOf(here.closest(".file")) : -1;
  const file = open[Math.max(0, Math.min(open.length - 1, at + step))];
  go(file?.querySelector(".hh"));
}

function turnTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

const keys = {
  j: () => move(1), k: () => move(-1), f: () => moveFile(1), F: () => moveFile(-1), t: turnTheme,
  o: () => { if (here?.localName === "details") here.open = !here.open; },
  x: () => { (here ? here.closest(".file") : files[0])?.querySelector("input").click(); },
  "?": () => document.getElementById("keys").togglePopover(),
};
addEventListener("keydown", (event) => {
  if (event.target.matches("input[type=text]") || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  keys[event.key]?.();
});
document.getElementById("theme").addEventListener("click", turnTheme);
list.querySelector(".files").addEventListener("click", (event) => {
  event.target.setAttribute("aria-expanded", list.classList.toggle("open"));
});
for (const link of links) link.addEventListener("click", () => list.classList.remove("open"));

// A file that was seen is folded, and stays so until its change is another one.
const SEEN = "gitcp-seen";
let seen = [];
try { seen = JSON.parse(localStorage.getItem(SEEN) || "[]"); } catch { /* not kept here */ }
files.forEach((file, n) => {
  const { stamp } = file.dataset;
  const box = file.querySelector("input");
  const show = () => {
    file.classList.toggle("seen", box.checked);
    links[n].classList.toggle("done", box.checked);
  };
  box.checked = seen.includes(stamp);
  show();
  box.addEventListener("change", () => {
    show();
    seen = seen.filter((other) => other !== stamp);
    if (box.checked) seen.push(stamp);
    try { localStorage.setItem(SEEN, JSON.stringify(seen.slice(-2000))); } catch { /* likewise */ }
  });
});

// A link into a conversation opens it.
async function openTalk() {
  const anchor = location.hash.slice(1);
  const talk = /^t/.test(anchor) && document.getElementById(anchor.split("-")[0]);
  if (!talk) return;
  talk.open = true;
  if ("talk" in talk.dataset) await window.fetchTalk?.(talk);
  document.getElementById(anchor)?.scrollIntoView();
}
addEventListener("hashchange", openTalk);

tellTimes(document);
const begun = unpackAll().then(openTalk);
root.dataset.ready = "all";
