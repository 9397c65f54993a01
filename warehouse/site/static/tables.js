// Sorts tables by a click on a heading, and filters the front page's groups. Pages are whole without it.
"use strict";

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

// A cell's value: a number in columns of numbers, else text; null for a dash, which sorts last both ways.
function valueOf(row, column, numeric) {
  const text = row.cells[column].textContent.trim();
  if (text === "–" || text === "") return null;
  return numeric ? Number.parseFloat(text.replaceAll(",", "")) : text;
}

function sortBy(table, heading) {
  const descending = heading.getAttribute("aria-sort") === "ascending";
  const numeric = heading.classList.contains("n");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [valueOf(row, heading.cellIndex, numeric), row]);
  rows.sort(([one], [other]) => {
    if (one === null || other === null) return (one === null) - (other === null);
    const order = numeric ? one - other : collator.compare(one, other);
    return descending ? -order : order;
  });
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => sortBy(table, heading));
    heading.replaceChildren(button);
  }
}

for (const search of document.querySelectorAll("[data-search]")) {
  const rows = document.getElementById(search.dataset.search).closest("table").tBodies[0].rows;
  const texts = Array.from(rows, (row) => [row, row.textContent.toLowerCase()]);
  const count = search.querySelector("output");
  search.querySelector("input").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of texts) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${texts.length} groups` : "";
  });
  search.hidden = false;
}
