// What a binding did, drawn: tasks by thread, bytes by step, speed by intensity.

const WIDTH = 1100, LEFT = 74, RIGHT = 16;

function chart(height, label, ...children) {
  return svg("svg", {viewBox: `0 0 ${WIDTH} ${height}`, width: "100%", role: "img", "aria-label": label}, children);
}

function titled(element, text) {
  element.append(svg("title", {}, text));
  return element;
}

// Ticks at 1, 2 or 5 times a power of ten.
function ticks(most, count = 8) {
  if (most <= 0) return [0];
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  return Array.from({length: Math.floor(most / step) + 1}, (_, index) => index * step);
}

// --- threads ---------------------------------------------------------------------------------------

function timeline(entry) {
  const workers = Math.max(0, ...entry.tasks.map((task) => task[3])) + 1;
  const end = Math.max(1, ...entry.tasks.map((task) => task[5]));
  const x = (at) => LEFT + (WIDTH - LEFT - RIGHT) * at / end, rows = 30;
  const height = workers * rows + 26;
  const bars = entry.tasks.map(([run, step, name, worker, begin, stop]) => titled(
    svg("rect", {x: x(begin), y: worker * rows + 3, width: Math.max(x(stop) - x(begin), 0.6), height: rows - 6,
      fill: colour(name)}), `${name} (step ${step}, run ${run}): ${time(stop - begin)} at ${time(begin)}`));
  const names = Array.from({length: workers}, (_, worker) =>
    svg("text", {x: 4, y: worker * rows + 19, class: "soft"}, `thread ${worker}`));
  const marks = ticks(end).map((at) => svg("g", {},
    svg("line", {class: "axis", x1: x(at), x2: x(at), y1: 0, y2: height - 18}),
    svg("text", {class: "soft", x: x(at), y: height - 5, "text-anchor": "middle"}, at ? time(at) : "0")));
  return chart(height, "timeline of threads", marks, names, bars);
}

// Wall time of each step of the first run, and what all threads spent on it.
function measured(entry) {
  const found = [];
  for (const [run, step, , , begin, end] of entry.tasks) {
    if (run !== 0 || entry.programs.length > 1) continue;
    const known = found[step] ??= {begin, end, busy: 0};
    known.begin = Math.min(known.begin, begin);
    known.end = Math.max(known.end, end);
    known.busy += end - begin;
  }
  return found;
}

function elapsed(entry) { return Math.max(0, ...entry.tasks.map((task) => task[5])); }

// Names by the time that threads spent in them, the largest first.
function shares(entry) {
  const spent = new Map();
  for (const [, , name, , begin, end] of entry.tasks) spent.set(name, (spent.get(name) ?? 0) + end - begin);
  const total = [...spent.values()].reduce((sum, each) => sum + each, 0) || 1;
  return [...spent].sort((a, b) => b[1] - a[1]).map(([name, each]) => ({name, spent: each, share: each / total}));
}

function legend(entry) {
  const known = shares(entry), shown = known.filter(({share}, rank) => rank < 10 && share >= 0.005);
  const others = known.slice(shown.length), rest = others.reduce((sum, each) => sum + each.share, 0);
  const item = (name, share, fill) => el("span", {}, el("i", {style: `background: ${fill}`}), `${name} ${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);
  return el("p", {class: "legend"}, shown.map(({name, share}) => item(name, share, colour(name))),
    others.length ? item(many(others.length, "other"), rest, "var(--line)") : null);
}

// Where the time of a call goes: one bar, and its parts by name.
function shareCard(entry) {
  if (entry.unmeasured) return card(`A call at ${sizes(entry.binding)}`, el("p", {class: "bad"}, `not measured: ${entry.unmeasured}`));
  let at = 0;
  const parts = shares(entry).map(({name, spent, share}) => {
    const bar = titled(svg("rect", {x: WIDTH * at, y: 0, width: Math.max(WIDTH * share, 0.5), height: 22, fill: colour(name)}),
      `${name}: ${time(spent)}, ${(100 * share).toFixed(1)} %`);
    at += share;
    return bar;
  });
  const arena = entry.programs.reduce((most, program) => Math.max(most, program.memory.arena), 0);
  return card(`A call at ${sizes(entry.binding)}: ${time(elapsed(entry))}, ${bytes(arena)} of temporaries`,
    chart(22, "shares of kernels in the time of a call", parts), legend(entry));
}

// --- memory ----------------------------------------------------------------------------------------

function liveBytes(program) {
  const live = new Array(Math.max(program.steps.length, 1)).fill(0);
  for (const [, , size, first, last] of program.buffers) {
    for (let step = first; step <= Math.min(last, live.length - 1); step++) live[step] += size;
  }
  return live;
}

function memoryChart(program) {
  const steps = Math.max(program.steps.length, 1), live = liveBytes(program);
  const most = Math.max(program.memory.arena, program.memory.lower_bound, ...live, 1);
  const height = 230, x = (step) => LEFT + (WIDTH - LEFT - RIGHT) * step / steps;
  const y = (size) => height - 22 - (height - 34) * size / most;
  let path = `M${x(0)} ${y(0)}`;
  live.forEach((size, step) => { path += `L${x(step)} ${y(size)}L${x(step + 1)} ${y(size)}`; });
  const parts = program.buffers.map(([number, offset, size, first, last]) => titled(
    svg("rect", {x: x(first), width: x(last + 1) - x(first), y: y(offset + size), height: Math.max(y(offset) - y(offset + size), 0.5),
      fill: colour(`buffer ${number}`), "fill-opacity": 0.55, stroke: "var(--card)"}),
    `buffer ${number}: ${bytes(size)} at ${offset}, steps ${first} to ${last}`));
  const marks = [0, 0.5, 1].map((part) => svg("text", {class: "soft", x: LEFT - 6, y: y(most * part) + 4,
    "text-anchor": "end"}, bytes(Math.round(most * part))));
  const numbers = ticks(steps, 12).filter(Number.isInteger).map((step) =>
    svg("text", {class: "soft", x: x(step), y: height - 6, "text-anchor": "middle"}, `${step}`));
  const bound = y(program.memory.lower_bound);
  return chart(height, "live bytes and the arena over steps", parts,
    svg("path", {d: path + `L${x(steps)} ${y(0)}`, fill: "none", stroke: "var(--text)", "stroke-width": 1.5}),
    titled(svg("line", {x1: LEFT, x2: WIDTH - RIGHT, y1: bound, y2: bound, stroke: "var(--bad)",
      "stroke-dasharray": "5 4"}), `no plan needs fewer than ${bytes(program.memory.lower_bound)}`), marks, numbers);
}

// --- roofline --------------------------------------------------------------------------------------

function rooflinePoints(entry) {
  const times = measured(entry);
  return entry.programs[0].steps.flatMap((step, number) => {
    const took = times[number];
    if (!step.effort || !took) return [];
    const [flops, operations, moved] = step.effort, work = flops + operations;
    const spent = Math.max(took.end - took.begin, 1) / 1e9;
    if (!work || !moved) return [];
    return [{number, name: step.name, intensity: work / moved, speed: work / spent,
      moved: moved / spent, share: took.end - took.begin}];
  });
}

function rooflineChart(entry) {
  const points = rooflinePoints(entry), top = DATA.roofline;
  if (!points.length) return el("p", {class: "soft"}, "No step of this program has a count of its work and a time.");
  const height = 380, logs = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  const knee = top.flops / top.bytes;
  const [left, right] = logs([...points.map((p) => p.intensity), knee * 0.1, knee * 10]);
  const [low, high] = logs([...points.map((p) => p.speed), top.flops]);
  const x = (value) => LEFT + (WIDTH - LEFT - RIGHT) * (Math.log10(value) - left) / (right - left);
  const y = (value) => 10 + (height - 44) * (1 - (Math.log10(value) - low) / Math.max(high - low, 1));
  const marks = [];
  for (let power = left; power <= right; power++) {
    marks.push(svg("line", {class: "axis", x1: x(10 ** power), x2: x(10 ** power), y1: 10, y2: height - 34}),
      svg("text", {class: "soft", x: x(10 ** power), y: height - 20, "text-anchor": "middle"}, `${10 ** power}`));
  }
  for (let power = low; power <= high; power++) {
    marks.push(svg("line", {class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(10 ** power), y2: y(10 ** power)}),
      svg("text", {class: "soft", x: LEFT - 6, y: y(10 ** power) + (power === low ? -2 : 4), "text-anchor": "end"}, rate(10 ** power, "op/s").replace(".0", "")));
  }
  const start = Math.max(10 ** left, 10 ** low / top.bytes);
  const roof = `M${x(start)} ${y(start * top.bytes)}L${x(knee)} ${y(top.flops)}L${x(10 ** right)} ${y(top.flops)}`;
  const longest = Math.max(...points.map((p) => p.share));
  const dots = points.map((p) => titled(svg("circle", {cx: x(p.intensity), cy: y(p.speed),
    r: 4 + 9 * Math.sqrt(p.share / longest), fill: colour(p.name), "fill-opacity": 0.75, stroke: "var(--card)"}),
    `${p.name} (step ${p.number}): ${rate(p.speed, "op/s")}, ${rate(p.moved, "B/s")}, ${time(p.share)}`));
  const named = new Map();
  for (const p of [...points].sort((a, b) => b.share - a.share)) if (!named.has(p.name) && named.size < 5) named.set(p.name, p);
  let above = Infinity;
  const labels = [...named.values()].sort((a, b) => y(b.speed) - y(a.speed)).map((p) => {
    const right = x(p.intensity) > WIDTH * 0.75;
    above = Math.min(y(p.speed) + 4, above - 13);  // labels of dots side by side stand on each other
    return svg("text", {x: x(p.intensity) + (right ? -16 : 16), y: above, "text-anchor": right ? "end" : "start", class: "name"}, p.name);
  });
  return chart(height, "speed of each step over its operations per byte", marks,
    svg("path", {d: roof, fill: "none", stroke: "var(--accent)", "stroke-width": 2}), dots, labels,
    svg("text", {class: "soft", x: WIDTH / 2, y: height - 4, "text-anchor": "middle"}, "operations per byte"));
}
