// The board: three panels of devices, dragging, and signing in.

import { describe, heldText, refresh, show, showing } from "./details.js";
import { follow } from "./feed.js";
import "./invite.js";
import "./messages.js";
import { $, call, clock, element, rate } from "./page.js";
import { concerns, forgetPeople, groupKey, groups, readPeople } from "./people.js";
import { showRehearsal } from "./rehearsal.js";

const devices = new Map(); // MAC address -> device, with its label
const panels = { out: $("#out"), asking: $("#asking"), permitted: $("#permitted") };
// Bandwidth at which a label has its full size, unless another device has more: 1 Mbit/s.
const FULL_RATE = 125_000;
const MAX_NEWS = 20;
let unfollow = () => {};

const panelOf = (device) =>
  device.admission === "permitted" ? "permitted" : device.asking ? "asking" : "out";

function makeLabel(mac) {
  const label = element("li", "device");
  label.tabIndex = 0;
  label.setAttribute("aria-describedby", "help");
  label.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight Enter");
  const grip = element("span", "grip", "⠿");
  grip.setAttribute("aria-hidden", "true");
  const text = element("div", "text");
  text.append(element("bdi", "name"), element("span", "note"));
  const buttons = element("div", "buttons");
  for (const [act, title] of [["deny", "Deny"], ["permit", "Permit"], ["details", "⋯"]]) {
    const button = element("button", act, title);
    button.type = "button";
    button.addEventListener("click", () => acts[act](devices.get(mac)));
    buttons.append(button);
  }
  label.append(grip, text, buttons, makeQuestion(mac));
  label.addEventListener("keydown", (event) => {
    if (event.target !== label) return;
    const act = { ArrowRight: "permit", ArrowLeft: "deny", Enter: "details" }[event.key];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (act) acts[act](devices.get(mac));
    if (step) {
      const all = [...document.querySelectorAll(".device")];
      all[all.indexOf(label) + step]?.focus();
    }
    if (act || step) event.preventDefault();
  });
  label.addEventListener("pointerdown", (event) => grab(event, mac));
  // By keyboard the line for a denial shows while the focus is on a permitted device.
  label.addEventListener("focusin", () => {
    if (label.matches(":focus-visible, :has(:focus-visible)")) tryOut(devices.get(mac), panels.out);
  });
  label.addEventListener("focusout", () => tryOut(null));
  return label;
}

/// The question whether a device is an earlier one again.
function makeQuestion(mac) {
  const question = element("div", "again");
  question.setAttribute("role", "group");
  question.hidden = true;
  const buttons = element("div", "buttons");
  for (const [same, title] of [[true, "Yes, the same"], [false, "No, another"]]) {
    const button = element("button", same ? "yes" : "no", title);
    button.type = "button";
    button.addEventListener("click", () => answer(devices.get(mac), same));
    buttons.append(button);
  }
  question.append(element("p", "asks"), element("p", "small because"), buttons);
  return question;
}

/// Evidence of a question, in words.
const because = (reason) => {
  if (reason === "options") return "the same DHCP options";
  return reason.name ? `the same name (${reason.name})` : `the same ${reason.identifier}`;
};

function drawQuestion(device) {
  const [question, again] = [$(".again", device.element), device.again];
  question.hidden = !again;
  if (!again) return;
  const text = `Is this ${again.label} again?`;
  $(".asks", question).textContent = text;
  $(".because", question).textContent = `It has ${again.reasons.map(because).join(" and ")}. A device can forge these: say yes only if you know it.`;
  question.setAttribute("aria-label", text);
  for (const name of ["yes", "no"]) {
    const button = $(`.${name}`, question);
    button.setAttribute("aria-label", `${button.textContent}: ${device.label} is ${name === "no" ? "not " : ""}${again.label}`);
  }
}

async function answer(device, same) {
  const earlier = device.again;
  try {
    update([await call("POST", `devices/${device.mac}/again`, { earlier: earlier.mac, same })]);
    say(same ? `${device.label} has all decisions about ${earlier.label}.` : `${device.label} is not ${earlier.label}.`);
    device.element.focus();
  } catch (error) {
    fail(error);
  }
}

/// Puts a device into its panel, sorted by name; guests by arrival.
function place(device) {
  const panel = panelOf(device);
  const label = device.element;
  if (label.classList.contains("held")) return;
  const key = panel === "asking" ? String(device.first_seen).padStart(12, "0") : groupKey(panel === "permitted" && device.person) + device.label.toLowerCase();
  if (device.panel === panel && device.key === key) return;
  const isNew = device.panel !== panel;
  Object.assign(device, { panel, key });
  const list = $("ul", panels[panel]);
  const after = [...list.children].find((other) => other !== label && other.dataset.key > key);
  label.dataset.key = key;
  const focused = label.contains(document.activeElement) && document.activeElement;
  list.insertBefore(label, after ?? null);
  if (focused) (focused.disabled || focused.hidden ? label : focused).focus();
  if (isNew && panel === "asking") say(`${device.label} asks to join.`);
  count();
}

function count() {
  for (const panel of Object.values(panels)) {
    const number = panel.querySelectorAll(".device").length;
    panel.classList.toggle("is-empty", number === 0);
    $("h2", panel).dataset.count = number;
  }
  const waiting = $("ul", panels.asking).childElementCount;
  document.title = waiting ? `(${waiting}) Guest Board` : "Guest Board";
}

/// Draws a label: its texts, size, opacity and colour.
function draw(device, greatest) {
  const label = device.element;
  const panel = panelOf(device);
  label.dataset.mac = device.mac;
  $(".name", label).textContent = device.label;
  const notes = [panel === "permitted" ? null : device.person];
  if (panel === "asking") notes.push(`since ${clock(device.first_seen)}`);
  if (device.admission === "denied") notes.push("denied");
  if (device.admission === "waiting" && panel === "out") notes.push("not decided");
  if (device.blacklisted) notes.push("blocked");
  if (device.paused) notes.push("paused");
  if (device.unauthenticated) notes.push("not authenticated");
  if (panel === "permitted" && device.held) notes.push(heldText(device.held));
  if (panel === "permitted" && !device.paused && !device.held) notes.push(rate(device.rate));
  if (device.signal !== null && device.signal < -75) notes.push("weak signal");
  if (device.retransmitted > 0.1) notes.push(`${Math.round(device.retransmitted * 100)} % retransmitted`);
  const note = notes.filter(Boolean).join(" · ");
  $(".note", label).textContent = note;
  label.setAttribute("aria-label", `${device.label}, ${note || panel}`);
  for (const [act, title] of [["permit", "Permit"], ["deny", "Deny"], ["details", "Details of"]]) {
    $(`.${act}`, label).setAttribute("aria-label", `${title} ${device.label}`);
  }
  $(".permit", label).hidden = panel === "permitted";
  $(".deny", label).hidden = device.admission === "denied";
  label.classList.toggle("paused", device.paused || device.blacklisted || device.unauthenticated || device.held !== null);
  const size = 1 + 0.8 * Math.sqrt(Math.min(1, device.rate / greatest));
  // Opacity falls from -50 dBm to -90 dBm.
  const opacity = device.signal === null ? 1 : Math.min(1, Math.max(0.4, 1 + (device.signal + 50) / 65));
  label.style.setProperty("--size", size.toFixed(2));
  label.style.setProperty("--opacity", opacity.toFixed(2));
  drawQuestion(device);
  label.style.setProperty("--red", Math.min(1, (device.retransmitted ?? 0) / 0.3).toFixed(2));
  place(device);
}

function drawAll() {
  const rates = [...devices.values()].map((device) => device.rate);
  const greatest = Math.max(FULL_RATE, ...rates);
  for (const device of devices.values()) draw(device, greatest);
  groups($("ul", panels.permitted), [...devices.values()].filter((device) => device.panel === "permitted"));
}

function update(list) {
  for (const news of list) {
    const known = devices.get(news.mac) ?? { element: makeLabel(news.mac) };
    devices.set(news.mac, Object.assign(known, news));
  }
  drawAll();
  const open = devices.get(showing());
  if (open && list.some((news) => news.mac === open.mac)) refresh(open);
}

function remove(mac) {
  devices.get(mac)?.element.remove();
  devices.delete(mac);
  if (showing() === mac) $("#details").close();
  groups($("ul", panels.permitted), [...devices.values()].filter((device) => device.panel === "permitted"));
  count();
}

const decide = (act) => async (device) => {
  try {
    update([await call("POST", `${act}/${device.mac}`)]);
    say(`${device.label} is ${act === "permit" ? "permitted" : "denied"}.`);
  } catch (error) {
    fail(error);
  }
};
const acts = { permit: decide("permit"), deny: decide("deny"), details: (device) => show(device, act) };

/// An action of the details: a call, then the device as it is now.
async function act(method, path, body) {
  const device = await call(method, path, body);
  if (device) update([device]);
  return device;
}

/// Shows the flows that a drop on a panel would break.
function tryOut(device, target) {
  const act = target?.dataset.drop;
  const isDecision = act === "deny" ? device?.panel === "permitted" : act && device?.admission !== "permitted";
  const change = isDecision ? { admission: act === "deny" ? "denied" : "permitted" } : null;
  showRehearsal($("#rehearsal"), device?.mac, change);
}

/// Drags with mouse, pen and finger. A finger drags by the grip only: elsewhere it scrolls.
function grab(event, mac) {
  const label = devices.get(mac).element;
  const isGrip = event.target.classList.contains("grip");
  if (event.button !== 0 || event.target.closest("button") || (event.pointerType === "touch" && !isGrip)) return;
  const from = [event.clientX, event.clientY];
  let target = null;
  const move = (event) => {
    const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
    if (!label.classList.contains("held")) {
      if (Math.hypot(x, y) < 6) return;
      label.setPointerCapture(event.pointerId);
      label.classList.add("held");
      document.body.classList.add("dragging");
    }
    label.style.translate = `${x}px ${y}px`;
    const below = document.elementsFromPoint(event.clientX, event.clientY).find((each) => !label.contains(each) && each.closest("[data-drop]"));
    const next = below?.closest("[data-drop]") ?? null;
    if (next !== target) {
      target?.classList.remove("target");
      target = next;
      target?.classList.add("target");
      tryOut(devices.get(mac), target);
    }
  };
  const end = (event) => {
    for (const [name, handler] of handlers) removeEventListener(name, handler);
    label.classList.remove("held");
    document.body.classList.remove("dragging");
    label.style.translate = "";
    tryOut(null);
    target?.classList.remove("target");
    const device = devices.get(mac);
    if (!device) return;
    if (event.type === "pointerup" && target && target !== panels[device.panel]) acts[target.dataset.drop](device);
    place(device);
  };
  const cancel = (event) => { if (event.key === "Escape") end(event); };
  const handlers = [["pointermove", move], ["pointerup", end], ["pointercancel", end], ["keydown", cancel]];
  for (const [name, handler] of handlers) addEventListener(name, handler);
}

function say(text) {
  $("#live").textContent = text;
}

function fail(error) {
  $("#error").textContent = error.message;
  $("#error").hidden = false;
  clearTimeout(fail.timer);
  fail.timer = setTimeout(() => { $("#error").hidden = true; }, 8000);
}

/// Adds a line of news, except for new devices and leases.
function tell(notice) {
  const text = describe(notice.news);
  if (!text) return;
  const line = element("li", "lease_ended domain_denied refuge spoofed held".includes(Object.keys(notice.news)[0]) ? "warning" : "");
  const time = element("time", "", clock(notice.at));
  line.append(time, element("bdi", "", devices.get(notice.mac)?.label ?? notice.mac), element("bdi", "", text));
  const list = $("#news ol");
  list.prepend(line);
  if (list.childElementCount > MAX_NEWS) list.lastChild.remove();
  $("#news").hidden = false;
  if (line.className) say(line.textContent);
}

/// Reads all devices, then subscribes to the news.
async function read() {
  unfollow();
  const { after, devices: list } = await call("GET", "devices");
  const there = new Set(list.map((device) => device.mac));
  for (const mac of [...devices.keys()]) if (!there.has(mac)) remove(mac);
  await readPeople();
  update(list);
  count();
  unfollow = follow("/ws.v1/events", after, {
    state: (connected) => { $("#state").textContent = connected ? "Live" : "Connection lost. Trying again…"; },
    news: ({ devices: list, gone, notices }) => {
      update(list);
      gone.forEach(remove);
      notices.forEach(tell);
      if (notices.some(concerns)) readPeople().then(drawAll).catch(fail);
    },
    figures: (figures) => update(Object.entries(figures).filter(([mac]) => devices.has(mac)).map(([mac, each]) => ({ mac, ...each }))),
    reload: start,
  });
}

/// Shows the board, or a form to sign in.
async function start() {
  unfollow();
  const session = await fetch("/ws.v1/session").then((answer) => answer.json()).catch(() => null);
  if (!session) {
    $("#state").textContent = "The router does not answer. Trying again…";
    setTimeout(start, 3000);
    return;
  }
  const { signed_in: isIn, set_up: isSetUp } = session;
  for (const id of ["#board", "#account", "#help"]) $(id).hidden = !isIn;
  $("#sign-in").hidden = isIn || !isSetUp;
  $("#set-up").hidden = isIn || isSetUp;
  if (isIn) return read().catch(fail);
  [...devices.keys()].forEach(remove);
  forgetPeople();
  $("#news ol").replaceChildren();
  $("#news").hidden = true;
  document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
  $("#state").textContent = "";
  const code = location.hash.match(/^#setup=(\w+)$/)?.[1];
  if (code) $("#set-up [name=code]").value = code;
  $(isSetUp ? "#sign-in [name=password]" : code ? "#set-up [name=password]" : "#set-up [name=code]").focus();
}

/// Connects a form to a call of the API, with its fields.
function form(selector, path, done, report = fail) {
  const form = $(selector);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = $(".main", form);
    button.disabled = true;
    try {
      await call("POST", path, Object.fromEntries(new FormData(form)));
      form.reset();
      $("#error").hidden = true;
      done();
    } catch (error) {
      report(error);
    }
    button.disabled = false;
  });
}

form("#sign-in", "session", start);
form("#set-up", "setup", () => { history.replaceState(null, "", "/"); start(); });
form("#password form", "password", () => { $("#password").close(); start(); },
  (error) => { $("#password .problem").textContent = error.message; });
$("#password-open").addEventListener("click", () => { $("#password .problem").textContent = ""; $("#password").showModal(); });
$("#sign-out").addEventListener("click", () => call("DELETE", "session").catch(fail).then(start));
for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
document.addEventListener("signed-out", start);
start();
