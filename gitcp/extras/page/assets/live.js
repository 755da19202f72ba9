// A page that is served is loaded again, at the same place, when there is another one.

const PLACE = "gitcp-place";
const PLACES = "#files > .file, #turns > .turn, article.commit, main > section";

function keepPlace() {
  const nodes = [...document.querySelectorAll(PLACES)];
  const node = scrollY && nodes.find((one) => one.getBoundingClientRect().bottom > 90);
  if (!node) return;
  const { top } = node.getBoundingClientRect();
  sessionStorage.setItem(PLACE, JSON.stringify({ id: node.id, top }));
}

function returnToPlace() {
  const { id, top } = JSON.parse(sessionStorage.getItem(PLACE) || "{}");
  sessionStorage.removeItem(PLACE);
  const node = document.getElementById(id) || document.querySelector(`[data-commits~="${id}"]`);
  if (!node) return;
  fill(node);
  scrollBy(0, document.getElementById(id).getBoundingClientRect().top - top);
  fillNear();
  scrollBy(0, document.getElementById(id).getBoundingClientRect().top - top);
}

begun.then(() => {
  returnToPlace();
  const mine = document.querySelector("meta[name=made]").content;
  new EventSource("events").addEventListener("message", ({ data }) => {
    if (data === mine) return;
    keepPlace();
    location.reload();
  });
});
