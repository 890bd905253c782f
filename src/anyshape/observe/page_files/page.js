// The views, and how one gets from one to the other.

const VIEWS = {};

// --- overview --------------------------------------------------------------------------------------

function tile(value, words) {
  return el("div", {class: "card tile"}, el("b", {}, value), el("span", {class: "soft"}, words));
}

// What was made of the model, in a line of large figures.
function headline() {
  const nodes = DATA.passes.length ? DATA.passes[0][1] : DATA.before.nodes.length;
  const steps = DATA.bindings[0].programs.reduce((sum, program) => sum + program.steps.length, 0);
  const held = Object.fromEntries(DATA.held);
  return el("div", {class: "tiles"},
    tile(nodes.toLocaleString("en"), "nodes in the model"),
    tile(many(steps, "kernel call"), `of ${many(DATA.kernels.length, "distinct kernel")}`),
    tile(DATA.axes.length ? "any size" : "one shape", DATA.axes.length
      ? `of ${DATA.axes.map((axis) => axis.split(":")[0]).join(", ")}, compiled once` : "compiled once"),
    tile(bytes(held.weights ?? 0), "of weights, held once"),
    tile(DATA.hostOps.length ? many(DATA.hostOps.length, "op") : "0 ops", "left to Python"));
}

function passTable() {
  const busy = DATA.passes.filter(([, before, after, applied, refused]) => before !== after || applied || refused);
  const idle = DATA.passes.filter((row) => !busy.includes(row)).map(([name]) => name);
  return card("Passes, in order", table(["pass", "nodes", "after", "applied", "refused"], busy),
    idle.length ? el("p", {class: "soft"}, `${many(idle.length, "pass", "passes")} found nothing to do: ${idle.join(", ")}.`) : null);
}

VIEWS.Overview = () => [
  headline(),
  ...DATA.bindings.map((entry) => shareCard(entry)),
  el("div", {class: "pair"}, el("div", {},
    card("Inputs and results", table(["", "", ""], [
      ...DATA.inputs.map(([name, type]) => ["input", name, el("code", {}, type)]),
      ...DATA.results.map((type, number) => ["result", `${number}`, el("code", {}, type)])])),
    card("Axes", DATA.axes.length ? DATA.axes.map((axis) => el("p", {}, el("code", {}, axis))) : el("p", {class: "soft"}, "It has one shape.")),
    card("Facts about sizes, and who said so", DATA.facts.length
      ? table(["fact", "from"], DATA.facts.map(([fact, source]) => [el("code", {}, fact), withPlaces(source)]))
      : el("p", {class: "soft"}, "None: every size stands for itself.")),
    DATA.branches.length ? card("Cases", DATA.branches.map((line) => el("p", {}, withPlaces(line)))) : null,
    card("Held between calls", table(["", ""], DATA.held.map(([what, count]) => [what.replaceAll("_", " "), bytes(count)]))),
    card("On the host", DATA.hostOps.length ? table(["op", "times"], DATA.hostOps)
      : el("p", {class: "soft"}, "Nothing: one native call does it all."))),
  passTable()),
];

// --- graph, decisions ------------------------------------------------------------------------------

const graphView = new GraphView((kernel) => { open_("Kernels"); showKernel(kernel); });
VIEWS.Graph = () => [graphView.element];

VIEWS.Decisions = () => {
  const list = el("div"), count = el("span", {class: "soft"});
  const words = el("input", {type: "search", placeholder: "search", "aria-label": "search decisions", oninput: draw});
  const which = el("select", {"aria-label": "which decisions", onchange: draw},
    ["all", "done", "refused"].map((name) => el("option", {}, name)));
  function draw() {
    const text = words.value.toLowerCase();
    const rows = DATA.decisions.filter((each) => which.value === "all" || each.taken === (which.value === "done"))
      .filter((each) => [each.rule, each.op, each.why, ...each.places].join(" ").toLowerCase().includes(text));
    list.replaceChildren(table(["", "pass or rule", "op", "times", "why", "where"], rows.map((each) => [
      el("span", {class: each.taken ? "good" : "bad"}, each.taken ? "done" : "refused"),
      each.rule, el("code", {}, each.op), each.count, each.why,
      el("span", {class: "soft", title: each.places.join("\n")}, each.places.slice(0, 3).map(shortPlace).join(", ") + (each.places.length > 3 ? ", …" : ""))])));
    count.textContent = `${rows.length} of ${DATA.decisions.length}`;
  }
  draw();
  return [el("div", {class: "row"}, which, words, count), el("div", {class: "card"}, list)];
};

// --- bindings --------------------------------------------------------------------------------------

function chosenVariant(step) {
  return (step.variants.find((variant) => variant[2]) ?? [""])[0];
}

function kernelLink(step) {
  const of = step.kernel;
  if (of === null) return step.name;
  return el("a", {class: "link", href: "#", onclick: (event) => {
    event.preventDefault(); open_("Kernels"); showKernel(of);
  }}, step.name);
}

function stepTable(program, times) {
  return table(["", "kernel", "result", "tasks", "estimate", "measured", "threads' time", "variant", "reads", "writes"],
    program.steps.map((step, number) => [number, kernelLink(step), el("code", {}, step.results.join(", ")), step.tasks,
      time(step.estimate), time(times[number] && times[number].end - times[number].begin), time(times[number]?.busy),
      step.variants.map(([name, cost, chosen]) => el(chosen ? "b" : "span", {class: chosen ? "" : "soft"}, `${name} ${time(cost)} `)),
      el("span", {class: "soft"}, step.reads.filter((place) => place !== "constant").join(", ")),
      el("span", {class: "soft"}, step.writes.join(", "))]));
}

VIEWS.Bindings = () => DATA.bindings.flatMap((entry) => {
  const times = measured(entry);
  const end = elapsed(entry);
  return [el("h2", {}, sizes(entry.binding)),
    entry.unmeasured ? el("p", {class: "bad"}, `not measured: ${entry.unmeasured}`)
      : card(`Threads: ${time(end)} from the first task to the last`, timeline(entry), legend(entry)),
    ...entry.programs.flatMap((program) => [
      card(`Memory: arena ${bytes(program.memory.arena)}, lower bound ${bytes(program.memory.lower_bound)}, results ${bytes(program.memory.outputs)}, weights ${bytes(program.memory.weights)}`,
        memoryChart(program), el("p", {class: "soft"}, "The line is what lives at each step; boxes are buffers at their place in the arena.")),
      el("details", {class: "card", open: program.steps.length < 60}, el("summary", {}, `Steps (${program.steps.length})`), stepTable(program, times))])];
});

VIEWS.Compare = () => {
  const columns = DATA.bindings.map((entry) => ({entry, times: measured(entry), steps: entry.programs[0].steps}));
  const rows = Math.max(0, ...columns.map((column) => column.steps.length));
  const cell = ({steps, times}, number) => {
    const step = steps[number];
    if (!step) return "–";
    const took = times[number] ? time(times[number].end - times[number].begin) : time(step.estimate) + " est.";
    const share = times[number] ? (times[number].end - times[number].begin) / slowest.get(times) : 0;
    return el("span", {class: "bar", style: `--share: ${(100 * share).toFixed(1)}%`}, `${took}, ${many(step.tasks, "task")}${step.split ? ", split" : ""} `, el("b", {}, chosenVariant(step)));
  };
  const slowest = new Map(columns.map(({times}) => [times, Math.max(1, ...times.map((each) => each ? each.end - each.begin : 0))]));
  const whole = columns.map(({entry}) => el("b", {}, time(elapsed(entry))));
  const arena = columns.map(({entry}) => bytes(entry.programs[0].memory.arena));
  return [card("What level 2 chose at each binding", table(["step", ...columns.map(({entry}) => sizes(entry.binding))], [
    ...Array.from({length: rows}, (_, number) => [
      `${number} ${columns.find(({steps}) => steps[number]).steps[number].name}`, ...columns.map((column) => cell(column, number))]),
    [el("b", {}, "from the first task to the last"), ...whole],
    [el("b", {}, "arena"), ...arena]]),
    el("p", {class: "soft"}, "Bars are shares of the slowest step in the column. A step is split where threads share it."))];
};

VIEWS.Roofline = () => [
  el("p", {class: "soft"}, `Ceilings ${DATA.roofline.measured ? "measured on this machine" : "as given, not measured here"}: `
    + `${rate(DATA.roofline.flops, "op/s")} of products on all threads, ${rate(DATA.roofline.bytes, "B/s")} from memory. `
    + "Caches are faster than memory, so steps may lie above the slope. A dot's area is its share of the time."),
  ...DATA.bindings.map((entry) => card(sizes(entry.binding), rooflineChart(entry)))];

// --- kernels ---------------------------------------------------------------------------------------

const kernelText = el("pre", {tabindex: 0}), kernelTitle = el("h2");
const kernelForm = el("select", {"aria-label": "form", onchange: () => showKernel(shownKernel)},
  el("option", {value: "text"}, "loops"), el("option", {value: "assembly"}, "instructions"));
const kernelButtons = DATA.kernels.map((kernel, number) => el("button", {type: "button", "aria-pressed": "false",
  onclick: () => showKernel(number)}, kernel.name, " ", el("span", {class: "soft"}, kernel.variant === "plain" ? "" : kernel.variant)));
let shownKernel = 0;

function showKernel(number) {
  shownKernel = number;
  const kernel = DATA.kernels[number];
  if (!kernel) return;
  kernelButtons.forEach((button, other) => button.setAttribute("aria-pressed", other === number));
  kernelButtons[number].scrollIntoView({block: "nearest"});
  kernelTitle.textContent = kernel.variant === "plain" ? kernel.name : `${kernel.name}: ${kernel.variant}`;
  kernelText.textContent = kernel[kernelForm.value] || "Left out of this page (assembly=False).";
}

VIEWS.Kernels = () => [el("div", {class: "split"}, el("div", {class: "list"}, kernelButtons),
  el("div", {class: "card"}, el("div", {class: "row"}, kernelTitle, kernelForm), kernelText))];

// --- all of it -------------------------------------------------------------------------------------

const tabs = {}, panels = {};

function open_(name) {
  for (const other of Object.keys(VIEWS)) {
    tabs[other].setAttribute("aria-selected", other === name);
    tabs[other].setAttribute("tabindex", other === name ? 0 : -1);
    panels[other].hidden = other !== name;
  }
  if (!panels[name].childNodes.length) panels[name].append(...VIEWS[name]().filter(Boolean));
  if (name === "Graph" && !graphView.graph) graphView.show("after");
  if (name === "Kernels") showKernel(shownKernel);
  history.replaceState(null, "", `#${name}`);
}

function move(event, name) {
  const names = Object.keys(VIEWS), at = names.indexOf(name);
  const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1}[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const other = names[(to + names.length) % names.length];
  open_(other);
  tabs[other].focus();
}

document.querySelector("h1").textContent = DATA.name;
document.getElementById("how").textContent = `${DATA.how[0]} executor, ${DATA.how[1]}, ${DATA.how[2]}`;
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
for (const name of Object.keys(VIEWS)) {
  tabs[name] = el("button", {type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`,
    onclick: () => open_(name), onkeydown: (event) => move(event, name)}, name);
  panels[name] = el("section", {role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}`, hidden: true});
  document.querySelector("nav").append(tabs[name]);
  document.querySelector("main").append(panels[name]);
}
open_(VIEWS[location.hash.slice(1)] ? location.hash.slice(1) : "Overview");
