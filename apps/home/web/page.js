// Shared by board and details: elements, calls of the API, formatted figures.

export const $ = (selector, root = document) => root.querySelector(selector);

/// An element with a text. Names come from devices and people, so they are only ever set as text.
export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

/// Calls the API. Throws an error with the server's message; without a session it notifies the page.
export async function call(method, path, body) {
  const answer = await fetch(`/ws.v1/${path}`, {
    method,
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body ? JSON.stringify(body) : undefined,
  }).catch(() => { throw new Error("The router does not answer."); });
  if (answer.status === 204) return null;
  const value = await answer.json().catch(() => ({}));
  if (answer.ok) return value;
  if (answer.status === 401) document.dispatchEvent(new Event("signed-out"));
  throw new Error(value.error ?? `The router answered ${answer.status}.`);
}

function scaled(number, units) {
  let unit = 0;
  while (number >= 1000 && unit + 1 < units.length) { number /= 1000; unit += 1; }
  return `${unit > 1 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

export const bytes = (number) => scaled(number, ["B", "kB", "MB", "GB", "TB"]);
export const rate = (number) => (number ? scaled(number * 8, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]) : "idle");
