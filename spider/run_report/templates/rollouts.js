"use strict";
const PAGE = 200;
const rollouts = JSON.parse(document.getElementById("data").textContent);
const search = document.getElementById("search");
const filters = ["mode", "change"].map((id) => document.getElementById(id));
const body = document.querySelector("#rows tbody");
let shown = PAGE;

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function sides(rollout) {
  return [rollout.before, rollout.after].filter(Boolean);
}

for (const select of filters) {
  select.append(new Option(select.id === "mode" ? "training and validation" : "all verdicts", ""));
  for (const value of [...new Set(rollouts.map((rollout) => rollout[select.id]))].sort()) select.append(new Option(value));
}
for (const rollout of rollouts) {
  const said = sides(rollout).flatMap((side) => [side.query, side.failure, ...(side.turns || []).map((turn) => turn.text)]);
  rollout.text = [rollout.question, rollout.db, rollout.gold, ...said].join("\n").toLowerCase();
}

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rollouts.filter((rollout) =>
    filters.every((select) => !select.value || rollout[select.id] === select.value) &&
    words.every((word) => rollout.text.includes(word)));
  document.getElementById("count").textContent = `${found.length} of ${rollouts.length}`;
  body.replaceChildren(...found.slice(0, shown).map(row));
  document.getElementById("more").hidden = found.length <= shown;
}

function row(rollout) {
  const line = make("tr", undefined, "row");
  line.tabIndex = 0;
  const last = rollout.change.split(" ").pop();
  line.append(make("td", rollout.change, last), make("td", rollout.mode),
    make("td", sides(rollout).map((side) => side.step).join(", "), "n"), make("td", rollout.db), make("td", rollout.question));
  line.addEventListener("click", () => toggle(line, rollout));
  line.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(line, rollout); });
  return line;
}

function toggle(line, rollout) {
  if (line.nextSibling && line.nextSibling.className === "details") return line.nextSibling.remove();
  const details = make("tr", undefined, "details");
  const cell = make("td", undefined, "open");
  cell.colSpan = 5;
  const side = make("div", undefined, "side");
  side.append(...sides(rollout).map(half));
  cell.append(make("h3", "Gold"), make("pre", rollout.gold), side);
  details.append(cell);
  line.after(details);
}

function half(side) {
  const part = make("div");
  part.append(make("h3", `Step ${side.step}: reward ${side.reward === null ? "none" : side.reward}`));
  if (side.failure) part.append(make("p", side.failure, "failed"));
  part.append(make("pre", side.query === null ? "(not kept: the record had reached its size)" : side.query || "(no query)"));
  for (const turn of side.turns || []) part.append(make("p", turn.node, "faint"), make("pre", turn.text));
  return part;
}

for (const control of [search, ...filters]) control.addEventListener("input", () => { shown = PAGE; show(); });
document.getElementById("more").addEventListener("click", () => { shown += PAGE; show(); });
show();
