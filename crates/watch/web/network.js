// The picture of the network: nodes, both directions of each link, and the frames on them where they can be drawn.

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 130, HEIGHT = 105, HALF = { x: 44, y: 19 };
// Minimum time on a link, in milliseconds of the clock, for a frame to be drawn.
const SEEN = 40;
// Length of the smallest frame drawn.
const LEAST = 5;

function make(name, parent, attributes = {}) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

/// Intersection of a node's border with the line from its centre to another point.
function border(from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const scale = Math.min(1, Math.min(HALF.x / Math.abs(dx || 1e-9), HALF.y / Math.abs(dy || 1e-9)));
  return { x: from.x + dx * scale, y: from.y + dy * scale };
}

export class Network {
  constructor(svg, lab, choose) {
    this.svg = svg;
    const places = lab.nodes.map((node) => ({ x: node.x * WIDTH, y: node.y * HEIGHT }));
    const xs = places.map((place) => place.x), ys = places.map((place) => place.y);
    const [left, top] = [Math.min(...xs) - 70, Math.min(...ys) - 45];
    const [width, height] = [Math.max(...xs) - left + 70, Math.max(...ys) - top + 45];
    svg.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
    const beside = new Map();
    const links = make("g", svg);
    this.flights = make("g", svg);
    this.texts = make("g");
    this.links = lab.links.map((link, number) => {
      const [a, b] = link.nodes;
      const key = a < b ? `${a} ${b}` : `${b} ${a}`;
      const order = beside.get(key) ?? 0;
      beside.set(key, order + 1);
      return this.link(links, link, number, places[a], places[b], order, choose);
    });
    this.nodes = lab.nodes.map((node, number) => {
      const { x, y } = places[number];
      const group = make("g", svg, { class: `node ${node.pings ? "host" : ""}`, tabindex: 0, role: "button", transform: `translate(${x} ${y})` });
      group.setAttribute("aria-label", `${node.name}, ${node.kind}`);
      make("rect", group, { x: -HALF.x, y: -HALF.y, width: 2 * HALF.x, height: 2 * HALF.y, rx: 6 });
      make("text", group, { y: -2 }).textContent = node.name.length > 12 ? `${node.name.slice(0, 11)}…` : node.name;
      make("text", group, { y: 12, class: "kind" }).textContent = node.kind.length > 15 ? `${node.kind.slice(0, 14)}…` : node.kind;
      make("title", group).textContent = [node.name, node.kind, ...node.addresses].join("\n");
      choosable(group, () => choose({ node: number }));
      return group;
    });
    svg.append(this.texts);
  }

  link(parent, link, number, from, to, order, choose) {
    const group = make("g", parent, { class: "link", tabindex: 0, role: "button" });
    group.setAttribute("aria-label", `link ${link.names.join(" to ")}`);
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const normal = { x: -(to.y - from.y) / length, y: (to.x - from.x) / length };
    // Parallel links are next to each other, and the two directions of a link on either side of its centre line.
    const shift = (order % 2 ? 1 : -1) * Math.ceil(order / 2) * 16;
    const moved = (place, by) => ({ x: place.x + normal.x * by, y: place.y + normal.y * by });
    const [start, end] = [border(from, to), border(to, from)];
    const line = (a, b, name) => make("line", group, { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: name });
    const lanes = [0, 1].map((way) => {
      const [a, b] = way ? [end, start] : [start, end];
      const by = shift + (way ? 5 : -5);
      const lane = { from: moved(a, by), to: moved(b, by), way };
      lane.line = line(lane.from, lane.to, "lane");
      // The queue length is shown next to the lane, at its sending end.
      const side = way ? 1 : -1;
      const at = (one, other, beside) => one + (other - one) * 0.2 + beside * side * 12;
      const upright = Math.abs(normal.x) > 0.3;
      lane.text = make("text", this.texts, {
        class: "queue", x: at(lane.from.x, lane.to.x, normal.x), y: at(lane.from.y, lane.to.y, normal.y) + 4,
        "text-anchor": upright ? (normal.x * side > 0 ? "start" : "end") : "middle",
      });
      return lane;
    });
    line(moved(start, shift), moved(end, shift), "hit");
    make("title", group).textContent = link.names.join(" – ");
    choosable(group, () => choose({ link: number }));
    return { group, lanes };
  }

  /// Marks the node or link that is chosen.
  choose(chosen) {
    this.nodes.forEach((group, number) => group.classList.toggle("chosen", chosen?.node === number));
    this.links.forEach(({ group }, number) => group.classList.toggle("chosen", chosen?.link === number));
  }

  /// Shows utilization (0 to 1), queue length and state of each direction.
  update(states) {
    states.forEach((ways, number) => ways.forEach(({ busy, waiting, up }, way) => {
      const { line, text } = this.links[number].lanes[way];
      line.classList.toggle("down", !up);
      line.style.strokeWidth = `${2 + 5 * busy}px`;
      line.style.stroke = !up || busy <= 0 ? "" : busy > 0.97 ? "var(--full)" : `color-mix(in srgb, var(--busy) ${Math.round(30 + 70 * busy)}%, var(--idle))`;
      text.textContent = waiting ? `${waiting} waiting` : "";
    }));
  }

  /// Draws frames at a time in nanoseconds after that of their sample, at `pace` simulated nanoseconds in a millisecond.
  animate(frames, delays, after, pace) {
    let used = 0;
    for (const [link, way, departs, arrives, length, kind] of frames) {
      const delay = delays[link][way];
      if (departs > after || arrives < after || (arrives - departs) / pace < SEEN) continue;
      const part = (time) => (delay ? Math.max(0, Math.min(1, (after - time) / delay)) : time === departs ? 1 : 0);
      let [head, tail] = [part(departs), part(arrives - delay)];
      const { from, to } = this.links[link].lanes[way];
      const least = LEAST / (Math.hypot(to.x - from.x, to.y - from.y) || 1);
      if (head - tail < least) { head = Math.min(1, Math.max(head, tail + least)); tail = Math.max(0, head - least); }
      const at = (share) => [from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share];
      const line = this.flights.children[used] ?? make("line", this.flights);
      used += 1;
      const [[x1, y1], [x2, y2]] = [at(tail), at(head)];
      for (const [key, value] of Object.entries({ x1, y1, x2, y2, class: `flight ${kind}` })) line.setAttribute(key, value);
      if (line.dataset.length !== `${length}`) { line.dataset.length = length; line.replaceChildren(); make("title", line).textContent = `${kind}, ${length} bytes`; }
    }
    while (this.flights.children.length > used) this.flights.lastChild.remove();
  }
}

function choosable(group, choose) {
  group.addEventListener("click", choose);
  group.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); choose(); }
  });
}
