// What all views use: elements, numbers as text, tables.

const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

// el("p", {class: "soft"}, "text", child): attributes that start with "on" are listeners.
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

function bytes(count) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (count >= size) return `${(count / size).toFixed(1)} ${unit}`;
  }
  return `${count} B`;
}

function time(nanoseconds) {
  if (nanoseconds === null || nanoseconds === undefined) return "–";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (nanoseconds >= size) return `${(nanoseconds / size).toFixed(1)} ${unit}`;
  }
  return `${Math.round(nanoseconds)} ns`;
}

function rate(perSecond, unit) {
  for (const [prefix, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6]]) {
    if (perSecond >= size) return `${(perSecond / size).toFixed(1)} ${prefix}${unit}`;
  }
  return `${Math.round(perSecond)} ${unit}`;
}

// Where in somebody's sources: without the folders that only this machine has.
function shortPlace(place) {
  const [path, line] = [place.replace(/:\d+$/, ""), place.match(/:\d+$/)?.[0] ?? ""];
  const parts = path.split("/"), packages = parts.lastIndexOf("site-packages");
  return (packages >= 0 ? parts.slice(packages + 1) : parts.slice(-2)).join("/") + line;
}

// Every absolute path in a text, likewise; the whole of it is one pointer away.
function withPlaces(text) {
  return el("span", {title: text}, text.replace(/\/[^\s,]+\/[^\s,]+/g, shortPlace));
}

function many(count, word, plural = word + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? word : plural}`;
}

function sizes(binding) {
  return Object.entries(binding).map(([name, size]) => `${name}=${size}`).join(", ") || "its one shape";
}

// Rows of cells; numbers go to the right, elements stay as they are.
function table(head, rows) {
  const cell = (value) => el("td", {class: typeof value === "number" ? "number" : null},
    typeof value === "number" ? value.toLocaleString("en") : value);
  return el("table", {},
    el("thead", {}, el("tr", {}, head.map((name) => el("th", {scope: "col"}, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell)))));
}

function card(title, ...children) {
  return el("div", {class: "card"}, title ? el("h2", {}, title) : null, children);
}

// The same colour for the same name in all views.
function colour(name) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `hsl(${hash % 360} 55% ${50 + (hash >> 9) % 14}%)`;
}
