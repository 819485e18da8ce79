// Elements and formatted numbers, for any page.

export const $ = (selector, root = document) => root.querySelector(selector);

/// An element with a text. Names come from devices, files and people, so they are only ever set as text.
export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function scaled(number, units) {
  let unit = 0;
  while (number >= 1000 && unit + 1 < units.length) { number /= 1000; unit += 1; }
  return `${unit > 1 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

export const bytes = (number) => scaled(number, ["B", "kB", "MB", "GB", "TB"]);
export const rate = (number) => (number ? scaled(number * 8, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]) : "idle");
