// Conversations: a prompt, the work folded to a line for each call, the answer.

const places = new Map(); // call or answer -> its turn and the calls of subagents that it is in

function sign(call) {
  const stat = call.diff ? sizes(call) : "";
  const ended = call.ended ? make("span", { class: "bad", text: `→ ${call.ended}` }) : "";
  return make("summary", {}, ...spaced(make("b", { text: call.name }),
    make("code", { text: call.path || call.about || "" }), stat, ended));
}

// A long result is kept once, however many calls had it.
function resultOf({ result }) {
  return typeof result === "object" ? valueOf(result) : result;
}

const SIGNS = { "+": "put", "-": "took", " ": "soft" };

function callOf(call) {
  const folded = make("details", { class: "call", data: { id: call.id } }, sign(call));
  if (call.diff) {
    folded.append(make("pre", {}, ...call.diff.map(([mark, text]) =>
      make("span", { class: SIGNS[mark], text: `${mark} ${text}\n` }))));
  }
  if (call.given) folded.append(make("pre", { class: "given", text: call.given }));
  const result = resultOf(call);
  if (result) folded.append(make("p", { class: "soft", text: "Result" }),
    make("pre", { class: "result", text: result }));
  if (call.task) folded.append(make("div", { class: "task" },
    make("p", { class: "soft", text: "Subagent" }), ...call.task.map(partOf)));
  return folded;
}

function pictureOf({ image, about }) {
  return /^data:image\/(png|jpeg|gif|webp);base64,/.test(image)
    ? make("img", { class: "picture", src: image, alt: "A picture in the conversation" })
    : make("p", { class: "soft", text: about });
}

function partOf(part) {
  if (part.image !== undefined) return pictureOf(part);
  return part.text ? make("div", { class: "said", data: { id: part.place } },
    ...grow(part.text)) : callOf(part);
}

function summed(calls) {
  const edits = calls.filter((call) => call.diff);
  const bad = calls.filter((call) => call.ended).length;
  const plus = edits.reduce((sum, call) => sum + call.plus, 0);
  const minus = edits.reduce((sum, call) => sum + call.minus, 0);
  return [count(calls.length, "tool use"), edits.length && `${count(edits.length, "edit")} ` +
    `+${plus} −${minus}`, bad && `${bad} failed`].filter(Boolean).join(", ");
}

// The last words are the answer; all before them is how it came about.
function turnBody(turn, value, open) {
  const first = value.parts.findIndex((part) => part.image === undefined);
  const parts = value.parts.slice(first < 0 ? value.parts.length : first);
  const shown = value.parts.slice(0, value.parts.length - parts.length);
  const asked = make("div", { class: "asked" }, ...grow(value.prompt), ...shown.map(pictureOf));
  if (!parts.length) return [asked];
  const answer = parts.at(-1).text ? parts.at(-1) : null;
  const work = answer ? parts.slice(0, -1) : parts;
  const steps = make("details", { class: "steps", open },
    make("summary", { text: summed(work.filter((part) => part.id)) }), ...work.map(partOf));
  return [asked, work.length ? steps : "", answer ? partOf(answer) : ""].filter(Boolean);
}

function turnTitle(turn) {
  const session = page.sessions[turn.session];
  const author = { ...session, mark: `${session.mark}${turn.number}` };
  return spaced(mark(author), make("b", { text: session.name }), when(turn.start),
    make("span", { class: "soft", text: turn.facts }));
}

function turnBlock(turn) {
  const node = make("article", { class: "turn block", id: turn.id, tabindex: "-1" });
  return block(node, 220, () => {
    const value = valueOf(turn);
    return value && [make("h3", {}, ...turnTitle(turn)), ...turnBody(turn, value, false)];
  });
}

function showTurns() {
  const shown = page.turns.filter((turn) => !chosen.who ||
    (chosen.turn ? turn.id === chosen.turn : page.sessions[turn.session].id === chosen.who));
  const holder = document.getElementById("turns");
  showBlocks(holder, shown.map(turnBlock));
  if (!shown.length) holder.append(make("p", { class: "soft", text: page.withPrompts
    ? "No turn" : "Prompts, answers and transcripts were left out of this page" }));
}

// The turn beside the change: a drawer, so that the place in the change is not lost.
const drawer = document.getElementById("drawer");
let opener = null;

function openTurn(turn, call) {
  const value = valueOf(turn);
  if (!value) return;
  if (drawer.hidden) opener = document.activeElement;
  const session = page.sessions[turn.session];
  const at = page.turns.indexOf(turn);
  const near = [page.turns[at - 1], page.turns[at + 1]];
  const steps = near.map((other, n) => make("button", { type: "button", class: "quiet",
    text: n ? "Next" : "Previous", disabled: other?.session !== turn.session,
    click: () => go(other.id) }));
  const actions = make("p", { class: "actions" }, ...steps,
    make("button", { type: "button", class: "quiet", text: "All its hunks",
      click: () => { closeTurn(); choose(session.id, turn.id); } }),
    session.resume && copier("Copy resume", session.resume),
    copier("Copy session id", session.title),
    copier("Copy link", () => addressOf(call || turn.id)));
  const close = make("button", { type: "button", class: "quiet close", text: "Close",
    click: closeTurn });
  drawer.replaceChildren(make("header", {}, make("h2", {}, ...turnTitle(turn)), close, actions),
    make("div", { class: "turn" }, ...turnBody(turn, value, Boolean(call))));
  drawer.hidden = false;
  let there = null;
  for (const id of call ? [...places.get(call).above, call] : []) {
    there = drawer.querySelector(`[data-id="${CSS.escape(id)}"]`);
    if (!there) break;
    if (there.localName === "details") there.open = true;
  }
  there?.classList.add("here");
  drawer.scrollTop = there ? Math.max(0, there.offsetTop - 150) : 0;
  close.focus({ preventScroll: true });
  bringHit(there || drawer.querySelector(".asked"));
  filledSince.add(drawer);
  highlightLater();
}

function closeTurn() {
  if (drawer.hidden) return false;
  drawer.hidden = true;
  drawer.replaceChildren();
  opener?.focus?.({ preventScroll: true });
  remember("");
  return true;
}

// Where each call and answer is: known once everything is unpacked.
function place(parts, turn, above = []) {
  for (const part of parts) {
    part.place = part.id || `said-${turn.id}-${places.size}`;
    places.set(part.place, { turn, above });
    if (part.task) place(part.task, turn, [...above, part.id]);
  }
}
