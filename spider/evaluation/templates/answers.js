function searched(answer) {
  const said = answer.calls.map((call) => call.reply);
  return [answer.question, answer.db, answer.query, answer.gold, answer.kind, answer.detail, "#" + answer.number, ...said];
}

function cells(answer) {
  const number = answer.sample ? `${answer.number}.${answer.sample}` : answer.number;
  const verdict = answer.verdict === "right" ? "right" : `${answer.verdict}: ${answer.kind}`;
  return [make("td", number, "n"), make("td", verdict, answer.verdict), make("td", answer.hardness),
    make("td", answer.db), make("td", answer.question), make("td", answer.turns.length, "n")];
}

function details(answer) {
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

showTable("answers", { searched, cells, details });
