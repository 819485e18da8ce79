// People: the devices of a person together, and what holds for all of them.

import { makeLimits } from "./limits.js";
import { $, call, element } from "./page.js";

const dialog = $("#person");
const headers = new Map(); // Name -> line above the devices of the person
let people = new Map();
let open = null;

/// Start of the key by which devices are sorted: those of a person together, those of nobody last.
export const groupKey = (person) => (person ? `1${person.toLowerCase()}\u0001${person}\u0001` : "2");

/// Whether news can change what is known of people.
export const concerns = ({ news }) => {
  const kind = typeof news === "string" ? news : Object.keys(news)[0];
  return ["held", "released", "owner"].includes(kind) || (kind === "changed" && "person" in Object(news.changed));
};

export async function readPeople() {
  people = new Map((await call("GET", "people")).map((person) => [person.person, person]));
  if (dialog.open && people.has(open)) draw();
}

export function forgetPeople() {
  people = new Map();
}

/// Keeps a line above the devices of each person in a list.
export function groups(list, devices) {
  const counts = new Map();
  for (const { person } of devices) if (person) counts.set(person, (counts.get(person) ?? 0) + 1);
  for (const [name, header] of headers) {
    if (counts.has(name)) continue;
    header.remove();
    headers.delete(name);
  }
  for (const [name, count] of counts) {
    const header = headers.get(name) ?? makeHeader(name, list);
    const paused = people.get(name)?.paused ?? false;
    $(".note", header).textContent = `${count} ${count === 1 ? "device" : "devices"}${paused ? " · paused" : ""}`;
    const pause = $(".pause", header);
    pause.textContent = paused ? "Resume" : "Pause";
    pause.setAttribute("aria-label", `${pause.textContent} all devices of ${name}`);
  }
}

function makeHeader(name, list) {
  const header = element("li", "person");
  header.dataset.key = groupKey(name);
  const title = element("h3", "", name);
  title.dir = "auto";
  const [pause, more] = [element("button", "pause"), element("button", "more", "⋯")];
  for (const button of [pause, more]) button.type = "button";
  more.setAttribute("aria-label", `Limits of ${name}`);
  pause.addEventListener("click", () => change(name, { paused: pause.textContent === "Pause" }).catch((error) => show(name, error)));
  more.addEventListener("click", () => show(name));
  header.append(title, element("span", "note"), pause, more);
  list.insertBefore(header, [...list.children].find((other) => other.dataset.key > header.dataset.key) ?? null);
  headers.set(name, header);
  return header;
}

/// Changes a person. The news of it redraws the board.
async function change(name, body) {
  people.set(name, await call("POST", `people/${encodeURIComponent(name)}`, body));
}

const attempt = (body) => change(open, body).then(() => draw(), (error) => draw(error));
const drawLimits = makeLimits($(".limits", dialog), attempt);

function draw(error) {
  const person = people.get(open);
  $(".problem", dialog).textContent = error?.message ?? "";
  if (!person) return;
  $("#person-title").textContent = open;
  $("#person-pause").textContent = person.paused ? "Resume" : "Pause";
  const names = person.devices.map((mac) => $(`.device[data-mac="${mac}"] .name`)?.textContent ?? mac);
  $("#person-devices").textContent = `Devices: ${names.join(", ")}`;
  drawLimits(person);
}

function show(name, error) {
  open = name;
  draw(error);
  dialog.showModal();
}

$("#person-pause").addEventListener("click", () => attempt({ paused: $("#person-pause").textContent === "Pause" }));
