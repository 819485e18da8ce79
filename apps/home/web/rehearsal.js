// Flows of the last hour that a decision would break, as a line of text.

import { bytes, call, clock } from "./page.js";

// Time for which a result is shown again without a new rehearsal, ms.
const MAX_AGE = 10_000;
const MAX_RESULTS = 50;
const MAX_NAMES = 3;
const results = new Map(); // device and change -> time and text

function list(groups) {
  const shown = groups.slice(0, MAX_NAMES).map((group) => `${group.name} (${group.app}, ${bytes(group.bytes)}, last at ${clock(group.last)})`);
  const more = groups.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function describe(tried) {
  const parts = [];
  if (tried.breaks.length) parts.push(`Would break: ${list(tried.breaks)}.`);
  else if (tried.flows) parts.push(`Would break none of the ${tried.flows} flows of the last hour.`);
  else parts.push("No flows were recorded in the last hour.");
  if (tried.unknown.length) parts.push(`Unknown: ${list(tried.unknown)}.`);
  if (tried.may_begin) parts.push("Other flows may begin to pass: refused ones are not recorded.");
  if (tried.is_cut) parts.push("Older flows are left out.");
  return parts.join(" ");
}

/// The line for a change of a device, as the API takes it.
export function rehearse(mac, change) {
  const key = mac + JSON.stringify(change);
  const known = results.get(key);
  if (known && Date.now() - known.at < MAX_AGE) return known.text;
  if (results.size >= MAX_RESULTS) results.clear();
  const text = call("POST", `rehearse/${mac}`, change).then(describe);
  text.catch(() => results.delete(key));
  results.set(key, { at: Date.now(), text });
  return text;
}

let turn = 0;

/// Shows the line for a change in an element after a short rest; without a change it hides the element.
export function showRehearsal(place, mac, change, rest = 250) {
  const own = ++turn;
  place.hidden = !change;
  place.textContent = "";
  if (!change) return;
  setTimeout(async () => {
    if (own !== turn) return;
    const text = await rehearse(mac, change).catch((error) => `No rehearsal: ${error.message}`);
    if (own === turn) place.textContent = text;
  }, rest);
}
