"use strict";
const PAGE = 200;
const answers = JSON.parse(document.getElementById("data").textContent);
const search = document.getElementById("search");
const filters = ["setting", "verdict", "hardness", "kind"].map((id) => document.getElementById(id));
const body = document.querySelector("#rows tbody");
let shown = PAGE;

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function fill(select, all) {
  select.append(new Option(all, ""));
  for (const value of [...new Set(answers.map((answer) => answer[select.id]))].sort()) select.append(new Option(value));
  select.hidden = select.options.length < 3;
}

for (const answer of answers) {
  const said = answer.calls.map((call) => call.reply);
  answer.text = [answer.question, answer.db, answer.query, answer.gold, answer.kind, answer.detail, "#" + answer.number, ...said]
    .join("\n").toLowerCase();
}

function matching() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return answers.filter((answer) =>
    filters.every((select) => !select.value || answer[select.id] === select.value) &&
    words.every((word) => answer.text.includes(word)));
}

function show() {
  const found = matching();
  document.getElementById("count").textContent = `${found.length} of ${answers.length} answers`;
  body.replaceChildren(...found.slice(0, shown).map(row));
  document.getElementById("more").hidden = found.length <= shown;
}

function row(answer) {
  const line = make("tr", undefined, "row");
  line.tabIndex = 0;
  const number = answer.sample ? `${answer.number}.${answer.sample}` : answer.number;
  const verdict = answer.verdict === "right" ? "right" : `${answer.verdict}: ${answer.kind}`;
  line.append(make("td", number, "n"), make("td", verdict, answer.verdict), make("td", answer.hardness),
    make("td", answer.db), make("td", answer.question), make("td", answer.turns.length, "n"));
  line.addEventListener("click", () => toggle(line, answer));
  line.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(line, answer); });
  return line;
}

function toggle(line, answer) {
  if (line.nextSibling && line.nextSibling.className === "details") return line.nextSibling.remove();
  const details = make("tr", undefined, "details");
  const cell = make("td", undefined, "open");
  cell.colSpan = 6;
  cell.append(...describe(answer));
  details.append(cell);
  line.after(details);
}

function describe(answer) {
  const parts = [make("p", `${answer.setting}; ${answer.seconds} s` +
    (answer.published === null ? "" : `; by the rule of published numbers ${answer.published ? "right" : "wrong"}`), "faint")];
  if (answer.detail) parts.push(make("p", answer.detail, "failed"));
  const side = make("div", undefined, "side");
  side.append(half("Predicted", answer.query, answer.result), half("Gold", answer.gold, answer.goldResult));
  parts.push(side);
  if (answer.turns.length > 1) {
    parts.push(make("h3", "Turns"));
    answer.turns.forEach((turn, at) => {
      parts.push(make("p", `Turn ${at + 1}: ${turn.kind}`, turn.right ? "right" : "wrong"), make("pre", turn.query), make("pre", turn.result));
    });
  }
  if (answer.calls.length) parts.push(make("h3", "What was asked and said"));
  for (const call of answer.calls) {
    const prompt = make("details");
    prompt.append(make("summary", `${call.node}: prompt (${call.tokens})`), make("pre", call.prompt));
    parts.push(prompt, make("pre", call.reply));
  }
  return parts;
}

function half(title, query, result) {
  const part = make("div");
  part.append(make("h3", title), make("pre", query || "(no query)"), make("pre", result || "(no result)"));
  return part;
}

fill(filters[0], "all settings");
fill(filters[2], "all levels");
fill(filters[3], "all kinds");
for (const control of [search, ...filters]) control.addEventListener("input", () => { shown = PAGE; show(); });
document.getElementById("more").addEventListener("click", () => { shown += PAGE; show(); });
show();
