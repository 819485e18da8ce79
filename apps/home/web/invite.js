// Invitations: a link and its QR code, and who has used them.

import { $, call, element, when } from "./page.js";

const dialog = $("#invite");
const picture = $("#invite-picture");

function drawPicture({ url, qr }) {
  const make = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const drawing = make("svg", { viewBox: `0 0 ${qr.size} ${qr.size}`, role: "img", "aria-label": "QR code of the link", "shape-rendering": "crispEdges" });
  drawing.append(make("rect", { width: qr.size, height: qr.size, fill: "#fff" }), make("path", { d: qr.path, fill: "#000" }));
  const link = element("output", "", url);
  picture.replaceChildren(drawing, element("p", "small", "A guest who waits scans this, or opens the link. It is not shown again:"), link);
}

async function draw() {
  const list = await call("GET", "invitations");
  $("#invitations").replaceChildren(...list.map(({ id, is_valid: isValid, expires, devices, person, used }) => {
    const line = element("li");
    const names = used.map(({ label, at }) => `${label} (${when(at)})`).join(", ");
    const parts = [isValid ? `valid until ${when(expires)}` : "ended", `${used.length} of ${devices} devices`, person && `for ${person}`, names && `used by ${names}`];
    const text = element("span", "", parts.filter(Boolean).join(" · "));
    text.dir = "auto";
    line.append(text);
    if (isValid) {
      const revoke = element("button", "", "Revoke");
      revoke.type = "button";
      revoke.setAttribute("aria-label", `Revoke the invitation that is ${parts[0]}`);
      revoke.addEventListener("click", () => attempt(() => call("DELETE", `invitations/${id}`)));
      line.append(revoke);
    }
    return line;
  }));
}

async function attempt(work) {
  $(".problem", dialog).textContent = "";
  try {
    await work();
    await draw();
  } catch (error) {
    $(".problem", dialog).textContent = error.message;
  }
}

$("form", dialog).addEventListener("submit", (event) => {
  event.preventDefault();
  const { hours, devices, person } = Object.fromEntries(new FormData(event.target));
  attempt(async () => drawPicture(await call("POST", "invitations", { hours: Number(hours), devices: Number(devices), person })));
});
$("#invite-open").addEventListener("click", () => {
  picture.replaceChildren();
  attempt(() => null);
  dialog.showModal();
});
dialog.addEventListener("close", () => picture.replaceChildren());
