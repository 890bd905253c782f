// The graph before and after: layers from inputs to results, to drag, zoom and search.

const BOX = {width: 168, height: 34, across: 190, down: 74};

// Layer: the longest way from an input. Order within: below what is read, as far as there is room.
function laidOut(graph, withConstants) {
  const shown = graph.nodes.map((node) => withConstants || node.kind !== "constant");
  const layer = [], layers = [], place = [];
  graph.nodes.forEach((node, number) => {
    if (!shown[number]) return;
    layer[number] = node.from.reduce((most, from) => shown[from] ? Math.max(most, layer[from] + 1) : most, 0);
    (layers[layer[number]] ??= []).push(number);
  });
  layers.forEach((numbers, depth) => {
    const wanted = new Map(numbers.map((number) => {
      const above = graph.nodes[number].from.filter((from) => shown[from]).map((from) => place[from].x);
      return [number, above.length ? above.reduce((sum, x) => sum + x, 0) / above.length : 0];
    }));
    numbers.sort((a, b) => wanted.get(a) - wanted.get(b));
    const middle = numbers.reduce((sum, number) => sum + wanted.get(number), 0) / numbers.length;
    numbers.forEach((number, index) => {
      place[number] = {x: middle + (index - (numbers.length - 1) / 2) * BOX.across, y: depth * BOX.down};
    });
  });
  return place;
}

class GraphView {
  constructor(openKernel) {
    this.openKernel = openKernel;
    this.which = "after";
    this.constants = false;
    this.view = {x: 0, y: 0, scale: 1};
    this.layer = svg("g");
    this.canvas = svg("svg", {role: "group", "aria-label": "graph; arrow keys go from node to node",
      onwheel: (event) => this.wheel(event), onpointerdown: (event) => this.drag(event)}, this.layer);
    this.side = el("aside", {class: "card", "aria-live": "polite"});
    this.search = el("input", {type: "search", placeholder: "search ops, types, places", size: 28,
      "aria-label": "search the graph", oninput: () => this.mark(),
      onkeydown: (event) => { if (event.key === "Enter") this.next(); }});
    this.count = el("span", {class: "soft"});
    this.pick = el("select", {"aria-label": "which graph", onchange: () => this.show(this.pick.value)},
      el("option", {value: "after"}, "after the passes: what runs"),
      el("option", {value: "before"}, "before the passes: the model"));
    this.text = el("pre");
    this.element = el("div", {},
      el("div", {class: "row"}, this.pick, this.search, this.count,
        el("label", {}, el("input", {type: "checkbox",
          onchange: (event) => { this.constants = event.target.checked; this.show(this.which); }}), " constants"),
        el("button", {type: "button", onclick: () => this.zoom(1.25), "aria-label": "zoom in"}, "+"),
        el("button", {type: "button", onclick: () => this.zoom(0.8), "aria-label": "zoom out"}, "−"),
        el("button", {type: "button", onclick: () => this.fit()}, "fit")),
      el("div", {class: "graph"}, this.canvas, this.side),
      el("p", {class: "legend"}, [["kernel: one call, what is in it is fused", "kernel"], ["a view: no code, no copy", "node"], ["an input", "card"], ["on the host, or between programs", "host"]]
        .map(([words, name]) => el("span", {}, el("i", {style: `background: var(--${name}); border: 1px solid ${name === "card" ? "var(--accent)" : "var(--line)"}`}), words)),
        el("span", {}, "Drag, wheel or + and − move; arrow keys go along edges.")),
      el("details", {class: "card"}, el("summary", {}, "as text"), this.text));
  }

  show(which) {
    this.which = which;
    this.graph = DATA[which];
    this.text.textContent = this.graph.text;
    this.place = laidOut(this.graph, this.constants);
    this.boxes = [];
    const edges = [], nodes = [];
    this.place.forEach((at, number) => {
      for (const from of this.graph.nodes[number].from) {
        if (this.place[from]) edges.push(this.edge(this.place[from], at));
      }
      nodes.push(this.boxes[number] = this.box(number, at));
    });
    this.layer.replaceChildren(...edges, ...nodes);
    this.choose(this.place.findIndex(Boolean), false);
    this.mark();
    this.begin();
  }

  edge(from, to) {
    const begin = from.y + BOX.height, end = to.y, middle = (begin + end) / 2;
    return svg("path", {class: "edge", d: `M${from.x} ${begin}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${end}`});
  }

  box(number, at) {
    const node = this.graph.nodes[number];
    const label = node.op.length > 24 ? node.op.slice(0, 23) + "…" : node.op;
    return svg("g", {class: `node ${node.kind}`, tabindex: -1, role: "button",
      "aria-label": `${node.op} ${node.types.join(" ")}`,
      transform: `translate(${at.x - BOX.width / 2} ${at.y})`,
      onclick: () => this.choose(number), onkeydown: (event) => this.key(event, number)},
      svg("rect", {width: BOX.width, height: BOX.height, rx: 5}),
      svg("text", {x: BOX.width / 2, y: 14, "text-anchor": "middle"}, label),
      svg("text", {x: BOX.width / 2, y: 27, "text-anchor": "middle", class: "soft"},
        (node.types[0] ?? "").slice(0, 27)));
  }

  users(number) {
    return this.graph.nodes.flatMap((node, user) => node.from.includes(number) && this.place[user] ? [user] : []);
  }

  key(event, number) {
    const beside = (step) => {
      const same = this.place.flatMap((at, other) => at && at.y === this.place[number].y ? [other] : [])
        .sort((a, b) => this.place[a].x - this.place[b].x);
      return same[same.indexOf(number) + step];
    };
    const to = {ArrowUp: () => this.graph.nodes[number].from.find((from) => this.place[from]),
      ArrowDown: () => this.users(number)[0], ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1)}[event.key];
    if (to) {
      event.preventDefault();
      const other = to();
      if (other !== undefined) this.choose(other);
    } else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.choose(number); }
  }

  choose(number, focus = true) {
    if (this.boxes[this.chosen]) {
      this.boxes[this.chosen].classList.remove("chosen");
      this.boxes[this.chosen].setAttribute("tabindex", -1);
    }
    this.chosen = number;
    const box = this.boxes[number], node = this.graph.nodes[number];
    if (!box) return this.side.replaceChildren();
    box.classList.add("chosen");
    box.setAttribute("tabindex", 0);
    if (focus) { this.bringIn(number); box.focus({preventScroll: true}); }
    const link = (other) => el("a", {class: "link", href: "#", onclick: (event) => {
      event.preventDefault();
      if (this.place[other]) this.choose(other);
    }}, this.graph.nodes[other].op);
    const listed = (numbers) => numbers.flatMap((other, index) => index ? [", ", link(other)] : [link(other)]);
    this.side.replaceChildren(
      el("h2", {}, node.op), ...node.types.map((type) => el("p", {}, el("code", {}, type))),
      node.where ? el("p", {class: "soft"}, withPlaces(node.where)) : "",
      node.ops.length ? el("p", {}, "computes: ", el("code", {}, node.ops.join(", "))) : "",
      el("p", {}, "reads: ", ...(node.from.length ? listed(node.from) : ["nothing"])),
      el("p", {}, "read by: ", ...(this.users(number).length ? listed(this.users(number)) : ["results"])),
      node.kernel !== null ? el("button", {type: "button", onclick: () => this.openKernel(node.kernel)}, "its loops and instructions") : "");
  }

  mark() {
    const words = this.search.value.trim().toLowerCase();
    const found = (node) => words && [node.op, node.where, ...node.types, ...node.ops].join(" ").toLowerCase().includes(words);
    this.hits = [];
    this.boxes.forEach((box, number) => {
      const hit = Boolean(found(this.graph.nodes[number]));
      box.classList.toggle("hit", hit);
      if (hit) this.hits.push(number);
    });
    this.count.textContent = words ? `${this.hits.length} found; Enter: next` : `${this.boxes.filter(Boolean).length} nodes`;
  }

  next() {
    if (!this.hits.length) return;
    const after = this.hits.find((number) => number > this.chosen) ?? this.hits[0];
    this.choose(after, false);
    this.bringIn(after);
  }

  size() { return {width: this.canvas.clientWidth || 900, height: this.canvas.clientHeight || 500}; }

  // From the top, as large as one can read; all of it is a click away.
  begin() {
    this.fit();
    const {width} = this.size(), scale = Math.max(this.view.scale, 0.85), ratio = scale / this.view.scale;
    const top = this.place.filter((at) => at && at.y === 0).map((at) => at.x);
    const middle = (Math.min(...top) + Math.max(...top)) / 2;
    this.view = ratio === 1 ? this.view : {scale, x: width / 2 - middle * scale, y: 12};
    this.apply();
  }

  fit() {
    const shown = this.place.filter(Boolean), {width, height} = this.size();
    if (!shown.length) return;
    const xs = shown.map((at) => at.x), ys = shown.map((at) => at.y);
    const left = Math.min(...xs) - BOX.across / 2, wide = Math.max(...xs) + BOX.across / 2 - left;
    const tall = Math.max(...ys) + BOX.down;
    const scale = Math.max(Math.min(1, width / wide, height / tall), 0.05);
    this.view = {scale, x: width / 2 - (left + wide / 2) * scale, y: 12};
    this.apply();
  }

  bringIn(number) {
    const at = this.place[number], {width, height} = this.size(), view = this.view;
    const x = at.x * view.scale + view.x, y = at.y * view.scale + view.y;
    if (x < 60 || x > width - 60 || y < 20 || y > height - 60) {
      view.x = width / 2 - at.x * view.scale;
      view.y = height / 2 - at.y * view.scale;
      this.apply();
    }
  }

  zoom(factor, at) {
    const {width, height} = this.size(), view = this.view, to = at ?? {x: width / 2, y: height / 2};
    const scale = Math.min(4, Math.max(0.05, view.scale * factor)), ratio = scale / view.scale;
    this.view = {scale, x: to.x - (to.x - view.x) * ratio, y: to.y - (to.y - view.y) * ratio};
    this.apply();
  }

  wheel(event) {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    this.zoom(event.deltaY < 0 ? 1.15 : 0.87, {x: event.clientX - box.left, y: event.clientY - box.top});
  }

  drag(event) {
    const begin = {x: event.clientX - this.view.x, y: event.clientY - this.view.y};
    const move = (now) => { this.view.x = now.clientX - begin.x; this.view.y = now.clientY - begin.y; this.apply(); };
    const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  apply() {
    this.layer.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
  }
}
