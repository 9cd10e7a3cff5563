"use strict";
// The table of a report: search, filters, and a click that opens a row. The page's own script calls showTable with what
// its records are called and, of one record, the lines that are searched, the cells, and the opened row's elements.
const PAGE = 200;

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function showTable(name, { searched, cells, details }) {
  const records = JSON.parse(document.getElementById("data").textContent);
  const texts = new Map(records.map((record) => [record, searched(record).join("\n").toLowerCase()]));
  const search = document.getElementById("search");
  const filters = [...document.querySelectorAll(".tools select")];
  const columns = document.querySelectorAll("#rows th").length;
  const more = document.getElementById("more");
  let shown = PAGE;

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = records.filter((record) =>
      filters.every((select) => !select.value || record[select.id] === select.value) &&
      words.every((word) => texts.get(record).includes(word)));
    document.getElementById("count").textContent = `${found.length} of ${records.length} ${name}`;
    document.querySelector("#rows tbody").replaceChildren(...found.slice(0, shown).map(row));
    more.hidden = found.length <= shown;
  }

  function row(record) {
    const line = make("tr", undefined, "row");
    line.tabIndex = 0;
    line.append(...cells(record));
    line.addEventListener("click", () => toggle(line, record));
    line.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(line, record); });
    return line;
  }

  function toggle(line, record) {
    if (line.nextSibling && line.nextSibling.className === "details") return line.nextSibling.remove();
    const opened = make("tr", undefined, "details");
    const cell = make("td", undefined, "open");
    cell.colSpan = columns;
    cell.append(...details(record));
    opened.append(cell);
    line.after(opened);
  }

  for (const select of filters) {
    const values = new Set(records.map((record) => record[select.id]));
    if (select.options.length === 1) select.append(...[...values].sort().map((value) => new Option(value)));
    select.hidden = select.options.length < 3;
  }
  for (const control of [search, ...filters]) control.addEventListener("input", () => { shown = PAGE; show(); });
  more.addEventListener("click", () => { shown += PAGE; show(); });
  show();
}
