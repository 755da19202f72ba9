
// A page that is served is loaded again, at the same place, when there is another one, and gets a
// conversation when it is opened.
window.fetchTalk = async (talk) => {
  delete talk.dataset.talk;
  const answer = await fetch(`talk/${talk.id}`);
  const body = talk.querySelector("div");
  if (answer.ok) put(body, await answer.text());
  else body.textContent = "The conversation is not here any more.";
  tellTimes(talk);
};
for (const talk of all(".talk")) {
  talk.addEventListener("toggle", () => {
    if (talk.open && "talk" in talk.dataset) window.fetchTalk(talk);
  });
}
begun.then(() => {
  const mine = document.querySelector("meta[name=made]").content;
  new EventSource("events").addEventListener("message", ({ data }) => {
    if (data !== mine) location.reload();
  });
});
