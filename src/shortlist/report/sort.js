"use strict";
(() => {
  const said = document.getElementById("said");
  const key = (row, at, numeric) => {
    const cell = row.cells[at];
    const value = cell.dataset.v ?? cell.textContent.trim();
    return numeric ? (value === "" || Number.isNaN(Number(value)) ? null : Number(value)) : value;
  };
  const sort = (button) => {
    const heading = button.closest("th");
    const table = heading.closest("table");
    const body = table.tBodies[0];
    const numeric = heading.classList.contains("n");
    const was = heading.getAttribute("aria-sort");
    const now = was ? (was === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
    const sign = now === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => [key(row, heading.cellIndex, numeric), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // what has no value stays below
      return sign * (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
    });
    for (const [, row] of rows) body.append(row);
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", now);
    said.textContent = `Sorted by ${button.textContent}, ${now}`;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("table[data-sortable] thead button");
    if (button) sort(button);
  });
})();
