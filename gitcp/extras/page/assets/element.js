"use strict";
// Whatever is shown is made here: elements by name, texts as texts, never markup.

const SVG = "http://www.w3.org/2000/svg";
const TAGS = new Set(("p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del table " +
  "thead tbody tr th td hr br a").split(" "));
const SCHEMES = /^(https?|mailto):/i;

function set(node, given) {
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === "" || value === false || value === null) continue;
    if (key === "class") node.setAttribute("class", value);
    else if (key === "text") node.textContent = value;
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "click") node.addEventListener("click", value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  return node;
}

function make(name, given = {}, ...children) {
  const node = set(document.createElement(name), given);
  node.append(...children.filter((one) => one !== "" && one !== null && one !== undefined));
  return node;
}

function draw(name, given = {}, ...children) {
  const node = set(document.createElementNS(SVG, name), given);
  node.append(...children.filter(Boolean));
  return node;
}

// A tree of what was Markdown: [tag, attributes, children], or a text.
function grow(tree) {
  return tree.map((node) => {
    if (typeof node === "string") return node;
    const [tag, given, children] = node;
    const known = TAGS.has(tag) ? tag.replace(/^h[1-6]$/, "h5") : "span";
    const href = known === "a" && SCHEMES.test(given.href || "") ? given.href : "";
    const made = make(known, { href, rel: href && "noreferrer noopener" });
    made.append(...grow(children));
    return made;
  });
}

function textOf(tree) {
  return tree.map((node) => typeof node === "string" ? node : textOf(node[2])).join(" ");
}

// What stands on one line, with the blanks that who copies it expects.
function spaced(...nodes) {
  return nodes.filter(Boolean).flatMap((node, n) => n ? [" ", node] : [node]);
}

function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

// How many lines came and went, of a file or a call.
function sizes({ plus, minus }) {
  return make("span", { class: "sizes" }, ...spaced(
    plus && make("span", { class: "plus", text: `+${plus}` }),
    minus && make("span", { class: "minus", text: `−${minus}` })));
}

function mark(author) {
  return make("span", { class: `mark ${author.color}`, title: author.name, text: author.mark });
}

function bar(parts, label) {
  return draw("svg", { class: "bar", viewBox: "0 0 1000 10", preserveAspectRatio: "none",
    role: "img", "aria-label": label },
  ...parts.map((part) => draw("rect", { class: part.color, x: part.x, y: "0",
    width: part.width, height: 10 })));
}

function words(parts) {
  return parts.map((part) => `${part.name} ${part.lines}`).join(", ") || "no lines added";
}

const human = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric",
  hour: "2-digit", minute: "2-digit" });
function when(seconds) {
  if (!seconds) return "";
  const date = new Date(seconds * 1000);
  return make("time", { datetime: date.toISOString(), title: date.toISOString(),
    text: human.format(date) });
}

const live = document.getElementById("status");
function say(text) { live.textContent = text; }

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = make("textarea", { text });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  say(`Copied: ${text}`);
  button?.focus();
}

function copier(label, text) {
  const button = make("button", { type: "button", class: "quiet", text: label, title: text });
  button.addEventListener("click", () => copy(typeof text === "function" ? text() : text, button));
  return button;
}

// An id that a click copies whole.
function copied(id, name) {
  const button = make("button", { type: "button", class: "id", title: `Copy ${id}` }, name);
  button.addEventListener("click", () => copy(id, button));
  return button;
}
