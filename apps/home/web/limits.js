// Bedtime and quota of a device or of a person.

import { bytes, element } from "./page.js";

const DAYS = [
  ["daily", "Every day"], ["sun-thu", "Sunday to Thursday"], ["mon-fri", "Monday to Friday"], ["fri,sat", "Friday, Saturday"], ["sat,sun", "Saturday, Sunday"],
  ["mon", "Monday"], ["tue", "Tuesday"], ["wed", "Wednesday"], ["thu", "Thursday"], ["fri", "Friday"], ["sat", "Saturday"], ["sun", "Sunday"],
];
const GIGABYTE = 1e9;

function field(title, name, attributes, kind = "input") {
  const label = element("label", "", title);
  const input = Object.assign(element(kind), { name, ...attributes });
  label.append(input);
  return [label, input];
}

/// Builds the forms in a section. `change` gets the body of a call. Returns a function that shows a device or a person.
export function makeLimits(section, change) {
  const bedtime = element("form");
  const list = element("ul", "times");
  const [days, select] = field("Days", "days", {}, "select");
  select.append(...DAYS.map(([value, title]) => Object.assign(element("option", "", title), { value })));
  const [from] = field("From", "from", { type: "time", required: true, value: "21:00" });
  const [until] = field("Until", "until", { type: "time", required: true, value: "07:00" });
  bedtime.append(days, from, until, element("button", "", "Add"));
  const quota = element("form");
  const [size, gigabytes] = field("Gigabytes a day", "size", { type: "number", min: "0.01", max: "1000000", step: "0.01", placeholder: "no limit" });
  const [again, reset] = field("New day at", "reset", { type: "time", required: true });
  quota.append(size, again, element("button", "", "Save"));
  const used = element("p", "small");
  section.append(element("h3", "", "Bedtime"), list, bedtime, element("h3", "", "Quota"), quota, used);

  let times = [];
  bedtime.addEventListener("submit", (event) => {
    event.preventDefault();
    const { days, from, until } = Object.fromEntries(new FormData(bedtime));
    change({ bedtime: [...times, `${days} ${from}-${until}`] });
  });
  quota.addEventListener("submit", (event) => {
    event.preventDefault();
    change({ quota: gigabytes.value ? { bytes: Math.round(gigabytes.value * GIGABYTE), reset: reset.value } : null });
  });

  let shown = "";
  return (state) => {
    // A form in use is not overwritten by news of traffic.
    used.textContent = state.quota ? `${bytes(state.used)} of ${bytes(state.quota.bytes)} used since ${state.quota.reset}, to and from the Internet.` : "";
    const now = JSON.stringify([state.mac ?? state.person, state.bedtime, state.quota]);
    if (now === shown) return;
    shown = now;
    times = state.bedtime;
    list.replaceChildren(...times.map((time) => {
      const [line, remove] = [element("li"), element("button", "", "Remove")];
      remove.type = "button";
      remove.setAttribute("aria-label", `Remove the bedtime ${time}`);
      remove.addEventListener("click", () => change({ bedtime: times.filter((each) => each !== time) }));
      line.append(element("span", "", time), remove);
      return line;
    }));
    gigabytes.value = state.quota ? state.quota.bytes / GIGABYTE : "";
    reset.value = state.quota?.reset ?? "00:00";
  };
}
