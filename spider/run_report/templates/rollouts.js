function sides(rollout) {
  return [rollout.before, rollout.after].filter(Boolean);
}

function searched(rollout) {
  const said = sides(rollout).flatMap((side) => [side.query, side.failure, ...(side.turns || []).map((turn) => turn.text)]);
  return [rollout.question, rollout.db, rollout.gold, ...said];
}

function cells(rollout) {
  const last = rollout.change.split(" ").pop();
  return [make("td", rollout.change, last), make("td", rollout.mode),
    make("td", sides(rollout).map((side) => side.step).join(", "), "n"), make("td", rollout.db), make("td", rollout.question)];
}

function details(rollout) {
  const side = make("div", undefined, "side");
  side.append(...sides(rollout).map(half));
  return [make("h3", "Gold"), make("pre", rollout.gold), side];
}

function half(side) {
  const part = make("div");
  part.append(make("h3", `Step ${side.step}: reward ${side.reward === null ? "none" : side.reward}`));
  if (side.failure) part.append(make("p", side.failure, "failed"));
  part.append(make("pre", side.query === null ? "(not kept: the record had reached its size)" : side.query || "(no query)"));
  for (const turn of side.turns || []) part.append(make("p", turn.node, "faint"), make("pre", turn.text));
  return part;
}

showTable("rollouts", { searched, cells, details });
