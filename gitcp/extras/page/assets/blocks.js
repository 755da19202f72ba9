// Blocks: what stands far down is made when it comes near the window, or when the browser is idle.
// Once all is made, the browser itself finds, prints and pictures all of it.

const MOST = 600000; // elements; from there on only what comes near is made
const REACH = 400; // pixels from the window that are near
const chunks = JSON.parse(document.getElementById("chunks").textContent);
const unpacked = []; // values by chunk
const blocks = new Map(); // node -> what makes its children, while it has none
let made = 0; // elements in blocks

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function valueOf(entry) { return unpacked[entry.chunk]?.[entry.index]; }

// A node whose children `fill` makes, null while what it needs is not unpacked.
function block(node, height, fill) {
  blocks.set(node, fill);
  node.style.minHeight = `${height}px`;
  watcher.observe(node);
  fillIdly();
  return node;
}

function fill(node) {
  const children = blocks.get(node)?.();
  if (!children) return;
  blocks.delete(node);
  watcher.unobserve(node);
  node.replaceChildren(...children);
  node.style.minHeight = "";
  made += node.getElementsByTagName("*").length;
  filledSince.add(node);
}

const filledSince = new Set(); // nodes in which nothing was highlighted yet

// Blocks in the place of those that a node has.
function showBlocks(node, shown) {
  for (const inner of node.querySelectorAll(".block")) {
    watcher.unobserve(inner);
    blocks.delete(inner);
  }
  made -= node.getElementsByTagName("*").length;
  node.replaceChildren(...shown);
}

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) fill(target);
  highlightLater();
}, { rootMargin: `${REACH}px 0px` });

function isNear(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > -REACH && top < innerHeight + REACH;
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

const whenIdle = globalThis.requestIdleCallback ||
  ((work) => setTimeout(() => work({ timeRemaining: () => 10 }), 30));
let idling = false;

function fillIdly() {
  if (idling || document.documentElement.dataset.ready !== "all") return;
  idling = true;
  delete document.documentElement.dataset.whole;
  const work = (deadline) => {
    for (const node of blocks.keys()) {
      if (made > MOST) break;
      if (deadline.timeRemaining() < 2) return whenIdle(work);
      fill(node);
    }
    idling = false;
    highlightLater();
    document.documentElement.dataset.whole = made > MOST ? "no" : "yes";
  };
  whenIdle(work);
}

function fillAll() {
  for (const node of blocks.keys()) fill(node); // and those that they have
}

let printing = false;
addEventListener("beforeprint", () => {
  printing = true;
  fillAll();
  for (const one of document.querySelectorAll("main details:not([open])")) {
    one.dataset.printed = "1";
    one.open = true;
  }
});
addEventListener("afterprint", () => {
  printing = false;
  for (const one of document.querySelectorAll("details[data-printed]")) {
    delete one.dataset.printed;
    one.open = false;
  }
});
