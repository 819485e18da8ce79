// Shows a lab at work and controls its run.

import { $, element, rate as rateText } from "./elements.js";
import { follow } from "./feed.js";
import { Network } from "./network.js";

// Samples kept for the charts, the time over which rates are taken in milliseconds of the reader's clock, and the same in samples.
const KEPT = 600, WINDOW = 800, SMOOTH = 20;
const MOST_LINKS = 40;

const lab = await (await fetch("/api/lab")).json();
const delays = lab.links.map((link) => link.delay_ns);
const samples = [];
let chosen = null, last = null, received = 0, connected = false, sliding = false, logged = 0;

document.title = lab.name ? `${lab.name} – wire lab` : "wire lab";
$("#name").textContent = lab.name || "wire lab";
$("#name").title = lab.about;
for (const node of lab.nodes) $("#nodes").append(Object.assign(document.createElement("option"), { value: node.name }));
const network = new Network($("#picture"), lab, choose);

async function order(body) {
  const answer = await fetch("/api/order", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })
    .catch(() => { throw new Error("The lab does not answer."); });
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(value.error ?? `The lab answered ${answer.status}.`);
  return value;
}

function tell(error) {
  $("#error").textContent = error?.message ?? "";
  $("#error").hidden = !error;
}

const give = (body) => order(body).then((value) => { tell(null); return value; }, (error) => { tell(error); return null; });

/// A time in nanoseconds, for people.
function time(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) if (Math.abs(ns) >= size) return `${(ns / size).toFixed(6)} ${unit}`;
  return `${Math.round(ns * 1000) / 1000} ns`;
}

const short = (ns) => time(ns).replace(/(\.\d{0,2})\d*/, "$1").replace(/\.0*(?= )/, "");
const speedText = (speed) => (speed === "max" ? "as fast as it can" : `${short(speed * 1e9)} a second`);

// Pace.
$("#run").addEventListener("click", () => give({ run: !last?.runs }));
$("#step").addEventListener("click", () => give({ step: 1 }));
$("#max").addEventListener("click", () => give({ speed: last?.speed === "max" ? 10 ** Number($("#speed").value) : "max" }));
$("#speed").addEventListener("input", () => { sliding = true; $("#pace").textContent = speedText(10 ** Number($("#speed").value)); });
$("#speed").addEventListener("change", async () => { await give({ speed: 10 ** Number($("#speed").value) }); sliding = false; });
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, button, .node, .link")) return;
  if (event.key === " ") { event.preventDefault(); $("#run").click(); }
  if (event.key === ".") $("#step").click();
});

// Samples.
follow("/api/events", "", {
  state: (is) => { connected = is; if (!is) $("#state").textContent = "not connected"; },
  news: () => {},
  reload: () => location.reload(),
  figures: (figures) => {
    if (!figures.links) return;
    received = performance.now();
    last = figures;
    if (samples.at(-1)?.figures.now_ns > figures.now_ns) samples.length = 0;
    samples.push({ at: received, figures });
    if (samples.length > KEPT) samples.shift();
    show();
  },
});

/// Throughput, utilization and counters of each direction, over the last `WINDOW`.
function states() {
  const now = samples.at(-1);
  const old = samples.findLast((sample) => sample.at <= now.at - WINDOW && sample.figures.now_ns < now.figures.now_ns) ?? samples[0];
  const seconds = (now.figures.now_ns - old.figures.now_ns) / 1e9;
  return now.figures.links.map((ways, number) => ways.map(([sent, bytes, dropped, marked, waiting, waitingBytes, up], way) => {
    const [before, bytesBefore] = old.figures.links[number][way];
    const rate = seconds > 0 ? (bytes - bytesBefore) / seconds : 0;
    // On the line a frame has preamble, FCS and gap besides its bytes: 24.
    const bits = seconds > 0 ? 8 * (bytes - bytesBefore + 24 * (sent - before)) / seconds : 0;
    const limit = lab.links[number].rate[way];
    return { sent, bytes, dropped, marked, waiting, waitingBytes, up: up === 1, rate, busy: limit ? Math.min(1, bits / limit) : bits > 0 ? 0.2 : 0 };
  }));
}

function show() {
  const now = states();
  $("#now").textContent = time(last.now_ns);
  $("#run").textContent = last.runs ? "Pause" : "Run";
  $("#run").disabled = $("#step").disabled = last.ended;
  $("#max").setAttribute("aria-pressed", last.speed === "max");
  if (!sliding) {
    if (last.speed !== "max") $("#speed").value = Math.log10(last.speed);
    $("#pace").textContent = speedText(last.speed);
  }
  const wanted = last.speed === "max" ? 0 : last.speed;
  const slow = last.runs && !last.ended && wanted && last.achieved > 0 && last.achieved < 0.9 * wanted;
  const of = last.ends_ns ? ` of ${short(last.ends_ns)}` : "";
  $("#state").textContent = last.ended ? "the lab is over" : !last.runs ? `stands still${of}` : slow || !wanted ? `runs at ${short(last.achieved * 1e9)} a second${of}` : `runs${of}`;
  $("#flying").textContent = `${last.flying} frames on links${last.flying > last.frames.length ? ", too many to draw" : ""}`;
  network.update(now);
  showLinks(now);
  if (chosen?.link !== undefined) showLink(now[chosen.link]);
  for (const [number, line] of last.log) {
    if (number <= logged) continue;
    logged = number;
    $("#log").prepend(element("li", "", line));
  }
  while ($("#log").children.length > 50) $("#log").lastChild.remove();
}

function showLinks(now) {
  const rows = now.flatMap((ways, number) => ways.map((state, way) => ({ number, way, ...state })));
  if (rows.length > MOST_LINKS) rows.sort((a, b) => b.rate - a.rate);
  const body = $("#links");
  rows.slice(0, MOST_LINKS).forEach((row, index) => {
    let line = body.children[index];
    if (!line) {
      line = element("tr");
      for (const name of ["", "", "number", "number", "number", "number"]) line.append(element("td", name));
      line.addEventListener("click", () => choose({ link: Number(line.dataset.link) }));
      body.append(line);
    }
    line.dataset.link = row.number;
    line.className = chosen?.link === row.number ? "chosen" : "";
    const names = lab.links[row.number].names;
    const busy = lab.links[row.number].rate[row.way] ? `${Math.round(100 * row.busy)} %` : "–";
    const texts = [names[row.way], names[1 - row.way], row.up ? rateText(row.rate) : "down", busy, row.waiting || "–", row.dropped || "–"];
    texts.forEach((text, cell) => { if (line.children[cell].textContent !== `${text}`) line.children[cell].textContent = text; });
    line.children[5].classList.toggle("bad", row.dropped > 0);
  });
  $("#more").textContent = rows.length > MOST_LINKS ? `The ${MOST_LINKS} busiest of ${rows.length} directions.` : "";
}

// Details.
function choose(what) {
  chosen = what;
  network.choose(what);
  $("#details").hidden = !what;
  $("#link-part").hidden = what?.link === undefined;
  $("#node-part").hidden = what?.node === undefined;
  if (!what) return;
  if (what.link !== undefined) {
    $("#title").textContent = lab.links[what.link].names.join(" – ");
  } else {
    const node = lab.nodes[what.node];
    $("#title").textContent = `${node.name}, ${node.kind}`;
    $("#ping").hidden = !node.pings;
    $("#shown").replaceChildren();
    showNode();
  }
  if (last) show();
}
$("#close").addEventListener("click", () => choose(null));
$("#toggle").addEventListener("click", () => give({ link: { number: chosen.link, up: !last.links[chosen.link][0][6] } }));
$("#ping").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await give({ ping: [lab.nodes[chosen.node].name, $("#to").value.trim()] })) if (!last.runs) give({ run: true });
});

function showLink(state) {
  const link = lab.links[chosen.link];
  $("#toggle").textContent = state[0].up ? "Take the link down" : "Bring the link up";
  const facts = [];
  const both = (read) => { const [forth, back] = [0, 1].map(read); return forth === back ? forth : `${forth} →, ${back} ←`; };
  facts.push(["rate", both((way) => (link.rate[way] ? rateText(link.rate[way] / 8) : "no limit"))]);
  facts.push(["delay", both((way) => time(link.delay_ns[way]))]);
  facts.push(["queue", both((way) => link.queue[way] ?? "plain")]);
  facts.push(["frames sent", `${state[0].sent} →, ${state[1].sent} ←`]);
  facts.push(["dropped", `${state[0].dropped} →, ${state[1].dropped} ←`]);
  if (state.some((way) => way.marked)) facts.push(["marked CE", `${state[0].marked} →, ${state[1].marked} ←`]);
  $("#facts").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", "", name), element("dd", "", value)]));
  const rates = [[], []], waits = [[], []];
  samples.forEach(({ figures }, index) => {
    const before = samples[Math.max(0, index - SMOOTH)].figures;
    const seconds = (figures.now_ns - before.now_ns) / 1e9;
    for (const way of [0, 1]) {
      const [now, old] = [figures.links[chosen.link][way], before.links[chosen.link][way]];
      if (seconds > 0 && index >= SMOOTH) rates[way].push([figures.now_ns, (now[1] - old[1]) / seconds]);
      waits[way].push([figures.now_ns, now[4]]);
    }
  });
  chart($("#throughput"), rates, rateText);
  chart($("#waiting"), waits, (count) => `${Math.round(count)}`);
}

/// Both directions over simulated time: forth in blue, back in green.
function chart(svg, both, text) {
  const all = both.flat();
  const [from, to] = [all[0]?.[0] ?? 0, all.at(-1)?.[0] ?? 1];
  const most = Math.max(1e-9, ...all.map(([, value]) => value));
  svg.setAttribute("viewBox", "0 0 400 96");
  svg.setAttribute("preserveAspectRatio", "none");
  const space = "http://www.w3.org/2000/svg";
  const lines = both.map((points, way) => {
    const line = document.createElementNS(space, "polyline");
    line.setAttribute("class", way ? "back" : "forth");
    line.setAttribute("points", points.map(([at, value]) => `${(400 * (at - from)) / (to - from || 1)},${94 - (78 * value) / most}`).join(" "));
    return line;
  });
  const label = document.createElementNS(space, "text");
  label.setAttribute("x", 2);
  label.setAttribute("y", 11);
  label.textContent = `at most ${text(most < 1e-6 ? 0 : most)}, ${short(from)} to ${short(to)}`;
  svg.replaceChildren(...lines, label);
}

function table(head, rows) {
  const made = element("table"), body = element("tbody");
  if (head) { const line = element("tr"); head.forEach((text) => line.append(element("th", "", text))); made.append(element("thead")); made.firstChild.append(line); }
  rows.forEach((row) => { const line = element("tr"); row.forEach((text) => line.append(element("td", typeof text === "number" ? "number" : "", `${text}`))); body.append(line); });
  made.append(body);
  return made;
}

async function showNode() {
  if (chosen?.node === undefined || !connected) return;
  const number = chosen.node;
  const told = await order({ show: lab.nodes[number].name }).catch(() => null);
  if (!told || chosen?.node !== number) return;
  const parts = [];
  const addresses = lab.nodes[number].addresses;
  if (addresses.length) parts.push(element("p", "small", addresses.join(", ")));
  if (told.flows.length) {
    parts.push(element("h3", "", "Conversations"));
    parts.push(table(["program", "from", "to", "goodput", "round trip"], told.flows.map((flow) => [
      flow.program, flow.from, flow.to, rateText(flow.goodput / 8), flow.rtt_ns ? short(flow.rtt_ns) : "–"])));
  }
  const counters = told.counters.filter(([, value]) => value);
  if (counters.length) { parts.push(element("h3", "", "Counters")); parts.push(table(null, counters)); }
  for (const each of told.tables) {
    parts.push(element("h3", "", `${each.name}${each.all > each.entries.length ? `, the first ${each.entries.length} of ${each.all}` : ""}`));
    parts.push(table(null, each.entries.map((entry) => [entry])));
  }
  if (!parts.length) parts.push(element("p", "small", "It has counted nothing yet."));
  $("#shown").replaceChildren(...parts);
}
setInterval(showNode, 1000);

// Between samples, frames move at the speed of the run, for at most two intervals.
function animate() {
  if (last) {
    const pace = Math.max(1e-3, (last.speed === "max" ? last.achieved : last.speed) * 1e6);
    const moves = last.runs && !last.ended;
    const elapsed = moves ? Math.min(performance.now() - received, 2 * lab.interval_ms + 50) : 0;
    network.animate(last.frames, delays, elapsed * pace, pace);
  }
  requestAnimationFrame(animate);
}
requestAnimationFrame(animate);
