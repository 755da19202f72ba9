// Search in the manual, by index.js, which is loaded once somebody searches: a script, since a page that
// is opened as a file may load nothing else.
"use strict";

const MOST = 40; // results that are shown
const AROUND = 90; // characters of text on each side of a word that was found
const field = document.getElementById("words");
const found = document.getElementById("found");
const page = document.getElementById("page");
let loading = null;

function load() {
  loading ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = "index.js";
    script.onload = done;
    document.head.append(script);
  });
  return loading;
}

// How well a section answers, 0 if it lacks a word: words of its page's name count most.
function rate([place, title, heading, text], words) {
  let sum = 0;
  for (const word of words) {
    const inTitle = title.toLowerCase().includes(word);
    const inHeading = heading.toLowerCase().includes(word);
    const inText = text.toLowerCase().includes(word);
    if (!inTitle && !inHeading && !inText) return 0;
    sum += 8 * inTitle + 4 * inHeading + inText;
  }
  const isTop = !place.includes("#") || place.endsWith("#NAME");
  return sum + (isTop ? 0.5 : 0);
}

function cut(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]));
  const start = Math.max(0, at - AROUND);
  const end = at + words[0].length + AROUND;
  return (start ? "…" : "") + text.slice(start, end) + (end < text.length ? "…" : "");
}

// A paragraph with the text, in which the words are marked.
function mark(text, words) {
  const line = document.createElement("p");
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  for (const part of text.split(new RegExp(`(${escaped.join("|")})`, "i"))) {
    const isWord = words.includes(part.toLowerCase());
    const piece = document.createElement(isWord ? "mark" : "span");
    piece.textContent = part;
    line.append(piece);
  }
  return line;
}

function show(words) {
  const rated = SECTIONS.map((section) => [rate(section, words), section]);
  const hits = rated.filter(([sum]) => sum).sort((one, two) => two[0] - one[0]);
  const list = document.createElement("ol");
  for (const [, [place, title, heading, text]] of hits.slice(0, MOST)) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = place;
    link.textContent = heading ? `${title}: ${heading}` : title;
    link.addEventListener("click", close);
    item.append(link, mark(cut(text, words), words));
    list.append(item);
  }
  const count = document.createElement("p");
  const noun = hits.length === 1 ? "section" : "sections";
  count.textContent = hits.length ? `${hits.length} ${noun}` : "Nothing has all of these words.";
  found.replaceChildren(count, list);
}

function close() {
  found.hidden = true;
  page.hidden = false;
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return close();
  await load();
  show(words);
  found.hidden = false;
  page.hidden = true;
}

field.addEventListener("focus", load);
field.addEventListener("input", search);
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    field.value = "";
    field.blur();
    close();
  }
});
