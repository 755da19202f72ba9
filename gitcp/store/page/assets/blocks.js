// Lists of any length with few elements alive: a block is filled when it comes near the window
// and, in a large page, emptied when it is far from it.

const MOST = 1500; // elements; from there on what is far away is let go
const REACH = 400; // pixels from the window that are near
const chunks = JSON.parse(document.getElementById("chunks").textContent);
const unpacked = []; // values by chunk
const blocks = new Map(); // node -> {fill, filled, near}
const everything = document.getElementsByTagName("*");

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function valueOf(entry) { return unpacked[entry.chunk]?.[entry.index]; }

// A node whose children `fill` makes, null while what it needs is not unpacked.
function block(node, height, fill) {
  blocks.set(node, { fill, filled: false, near: blocks.get(node)?.near || false });
  node.style.minHeight = `${height}px`;
  watcher.observe(node);
  return node;
}

function fill(node) {
  const known = blocks.get(node);
  if (!known || known.filled) return true;
  const children = known.fill();
  if (!children) return false;
  trim();
  node.replaceChildren(...children);
  node.style.minHeight = "";
  known.filled = true;
  filledSince.add(node);
  return true;
}

const filledSince = new Set(); // nodes in which nothing was highlighted yet

function forget(node) {
  for (const inner of node.querySelectorAll(".block")) {
    watcher.unobserve(inner);
    blocks.delete(inner);
  }
}

// Blocks in the place of those that a node has.
function showBlocks(node, made) {
  forget(node);
  node.replaceChildren(...made);
}

function empty(node, known) {
  forget(node);
  node.style.minHeight = `${node.offsetHeight}px`;
  node.replaceChildren();
  known.filled = false;
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const known = blocks.get(entry.target);
    if (!known) continue;
    known.near = entry.isIntersecting;
    if (known.near) fill(entry.target);
  }
  trim();
  highlightLater();
}, { rootMargin: `${REACH}px 0px` });

let printing = false; // all is alive then

function trim() {
  if (printing || everything.length <= MOST) return;
  for (const [node, known] of blocks) {
    if (known.filled && !known.near && !node.contains(document.activeElement)) empty(node, known);
    if (everything.length <= MOST * 0.8) return;
  }
}

function isNear(node) {
  const known = blocks.get(node);
  if (known.filled) return false;
  const { top, bottom } = node.getBoundingClientRect();
  known.near ||= bottom > -REACH && top < innerHeight + REACH;
  return known.near;
}

function fillNear() {
  for (const node of blocks.keys()) if (isNear(node)) fill(node);
}

// What waited for a chunk is filled as soon as it is there.
async function unpackAll() {
  for (let number = 0; number < chunks.length; number += 1) {
    unpacked[number] = await unpack(chunks[number]);
    chunks[number] = "";
    fillNear();
  }
}

function fillAll() {
  printing = true;
  for (let before = -1; before !== blocks.size;) {
    before = blocks.size;
    for (const node of [...blocks.keys()]) fill(node);
  }
}

addEventListener("beforeprint", () => {
  fillAll();
  for (let closed; (closed = document.querySelectorAll("details:not([open])")).length;) {
    for (const one of closed) {
      one.dataset.printed = "1";
      one.open = true;
      one.unfold?.();
    }
  }
  for (const button of document.querySelectorAll("button.more")) button.click();
});
addEventListener("afterprint", () => {
  printing = false;
  for (const one of document.querySelectorAll("details[data-printed]")) {
    delete one.dataset.printed;
    one.open = false;
  }
  trim();
});
