// The details of a device: names, decisions, domains, traffic, history.

import { makeLimits } from "./limits.js";
import { $, bytes, call, clock, element, rate, when } from "./page.js";
import { showRehearsal } from "./rehearsal.js";

const dialog = $("#details");
let mac = null;
let act = null;

/// The device that is shown.
export const showing = () => (dialog.open ? mac : null);

/// Text for the state of a device that a limit holds.
export const heldText = ({ why, until }) => ({
  owner: "all devices of the owner are paused",
  bedtime: `bedtime until ${clock(until)}`,
  quota: `quota used up until ${clock(until)}`,
})[why];

/// Text for a bedtime or a quota; empty for others.
function limitText(kind, value) {
  if (kind === "bedtime") return value.length ? `has bedtime ${value.join("; ")}` : "has no bedtime";
  return value ? `may use ${bytes(value.bytes)} a day` : "has no quota";
}

/// Text for news or a change; empty for news that is not shown.
export function describe(news) {
  if (typeof news === "string") return { lease_ended: "has left: its lease ended", released: "may use the network again" }[news] ?? "";
  const [[kind, value]] = Object.entries(news);
  switch (kind) {
    case "changed": return value === "forgotten" ? "is forgotten" : describe(value);
    case "domain_denied": return `asked for ${value}, which is denied`;
    case "refuge": return `opened ${value} connections at a time: one rule stands for them now`;
    case "held": return heldText(value);
    case "owner": return ""; // The owner's other devices have the same news.
    case "bedtime": case "quota": return limitText(kind, value);
    case "authenticated": return value ? "is authenticated" : "is no longer authenticated";
    case "spoofed": return `used ${value}, which is not its address`;
    case "admission": return { waiting: "waits again", permitted: "is permitted", denied: "is denied" }[value];
    case "blacklisted": return value ? "is blocked from connecting" : "may connect";
    case "paused": return value ? "is paused" : "is no longer paused";
    case "domain": return `${value[0]} ${value[1] === null ? "has no rule" : value[1] ? "is permitted" : "is denied"}`;
    case "others_denied": return value ? "reaches only permitted domains" : "reaches all domains that are not denied";
    case "name": return value === null ? "has no name" : `is called ${value}`;
    case "person": return value === null ? "has no owner" : `belongs to ${value}`;
    case "host_name": return `calls itself ${value}`;
    case "maybe_again": return `may be ${value} again: people are asked`;
    case "again": return `is ${value} again`;
    case "not_again": return `is not ${value}`;
    default: return ""; // Found, and leases.
  }
}

/// Share of a device's traffic with addresses that it has not looked up.
function unseen(device) {
  const all = device.sent + device.received;
  if (!all) return "No traffic since the start.";
  const share = Math.round((device.not_looked_up / all) * 100);
  return `${share} % of its bytes went to addresses that it did not look up here (encrypted DNS, relays, fixed addresses). Domain rules cannot see these.`;
}

export function refresh(device) {
  $("#details-title").textContent = device.label;
  const facts = [
    ["Traffic", `${bytes(device.sent)} sent, ${bytes(device.received)} received, ${rate(device.rate)}`],
    ["Limit", device.held && device.admission === "permitted" ? heldText(device.held) : null],
    ["Not looked up", unseen(device)],
    ["Refused", device.refused ? `${device.refused} connections` : null],
    ["Signal", device.signal === null ? null : `${device.signal} dBm${device.retransmitted === null ? "" : `, ${Math.round(device.retransmitted * 100)} % of frames retransmitted`}`],
    ["Signed in as", device.identity],
    ["Address", device.address],
    ["IPv6 addresses", device.addresses.join(", ")],
    ["IPv6 prefixes", device.prefixes.join(", ")],
    ["MAC address", device.mac],
    ["Calls itself", device.host_name],
    ["Last seen", when(device.last_seen)],
    ["Lease until", device.lease_end === null ? "no lease" : when(device.lease_end)],
  ];
  $("#facts").replaceChildren(...facts.filter(([, text]) => text).flatMap(([title, text]) => {
    const fact = element("dd", "", text);
    fact.dir = "auto";
    return [element("dt", "", title), fact];
  }));
  const button = (name) => $(`[data-act=${name}]`);
  button("permit").hidden = device.admission === "permitted";
  button("deny").hidden = device.admission === "denied";
  button("pause").hidden = device.admission !== "permitted";
  button("pause").textContent = device.paused ? "Resume" : "Pause";
  button("block").textContent = device.blacklisted ? "Unblock connection" : "Block connection";
  $("#others").checked = device.others_denied;
  drawLimits(device);
  if (!device.domains) return;
  $("#domains").replaceChildren(...device.domains.map(({ domain, permitted }) => {
    const state = permitted ? "permitted" : "denied";
    const [line, remove] = [element("li", state), element("button", "", "Remove")];
    remove.type = "button";
    remove.setAttribute("aria-label", `Remove the rule for ${domain}`);
    remove.addEventListener("click", () => attempt(() => act("DELETE", `devices/${mac}/domains/${domain}`)));
    line.append(element("span", "", `${domain}: ${state}`), remove);
    return line;
  }));
}

/// Runs an action, and shows the new history or the reason of the failure.
async function attempt(work) {
  const problem = $(".problem", dialog);
  problem.textContent = "";
  try {
    await work();
    if (!dialog.open) return;
    const entries = await call("GET", `devices/${mac}/history`);
    $("#history").replaceChildren(...entries.map(({ at, change }) => {
      const line = element("li");
      line.append(element("time", "", when(at)), element("bdi", "", describe(change)));
      return line;
    }));
  } catch (error) {
    problem.textContent = error.message;
  }
}

const drawLimits = makeLimits($(".limits", dialog), (body) => attempt(() => act("POST", `devices/${mac}`, body)));

export function show(device, doing) {
  [mac, act] = [device.mac, doing];
  for (const name of ["name", "person"]) $(`#names [name=${name}]`).value = device[name] ?? "";
  $("#domains").replaceChildren();
  $("#history").replaceChildren();
  $("[data-act=forget]").textContent = "Forget";
  refresh({ ...device, domains: undefined });
  dialog.showModal();
  attempt(() => act("GET", `devices/${mac}`));
}

for (const button of document.querySelectorAll("[data-act]")) {
  button.addEventListener("click", () => {
    const kind = button.dataset.act;
    const change = (body) => act("POST", `devices/${mac}`, body);
    if (kind === "forget" && button.textContent === "Forget") {
      button.textContent = "Forget for good?";
      return;
    }
    attempt(() => ({
      permit: () => act("POST", `permit/${mac}`),
      deny: () => act("POST", `deny/${mac}`),
      pause: () => change({ paused: button.textContent === "Pause" }),
      block: () => act("POST", `${button.textContent === "Block connection" ? "blacklist" : "whitelist"}/${mac}`),
      forget: () => act("DELETE", `devices/${mac}`).then(() => dialog.close()),
    })[kind]());
  });
}
$("#names").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(() => act("POST", `devices/${mac}`, Object.fromEntries(new FormData(event.target))));
});
$("#rule").addEventListener("submit", (event) => {
  event.preventDefault();
  const domain = encodeURIComponent(event.target.elements.domain.value.trim());
  attempt(() => act("POST", `${event.submitter.value}/${mac}/${domain}`).then(() => event.target.reset()));
});
$("#others").addEventListener("change", (event) => {
  attempt(() => act("POST", `devices/${mac}`, { others_denied: event.target.checked }));
});

/// Shows the flows that a change would break, in the line below the buttons.
const tryOut = (change) => showRehearsal($("#rehearsed"), mac, change);
const changes = {
  deny: () => ({ admission: "denied" }),
  pause: () => ({ paused: $("[data-act=pause]").textContent === "Pause" }),
  block: () => ({ blacklisted: $("[data-act=block]").textContent === "Block connection" }),
};
for (const [kind, change] of Object.entries(changes)) {
  const button = $(`[data-act=${kind}]`);
  for (const event of ["focus", "pointerenter"]) button.addEventListener(event, () => tryOut(change()));
}
for (const event of ["focus", "pointerenter"]) $("#others").addEventListener(event, () => tryOut({ others_denied: !$("#others").checked }));
$("#rule").addEventListener("input", (event) => {
  const domain = event.target.value.trim();
  const isDomain = /^[\w-]+(\.[\w-]+)+\.?$/.test(domain);
  showRehearsal($("#rehearsed"), mac, isDomain ? { domain: [domain, false] } : null, 500);
});
dialog.addEventListener("close", () => tryOut(null));
