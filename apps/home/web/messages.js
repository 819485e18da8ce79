// Messages to people who are not looking: a webhook and MQTT.

import { $, call } from "./page.js";

const dialog = $("#messages");
const forms = { webhook: $("#webhook"), mqtt: $("#mqtt") };
let timer = 0;

/// Outcome of the messages of a destination.
function outcome({ waiting, counts, error }) {
  const parts = Object.entries(counts).map(([name, count]) => `${name.replace("_", " ")}: ${count}`);
  if (waiting) parts.push(`waiting: ${waiting}`);
  return [error, parts.join(", ")].filter(Boolean).join(". ");
}

function drawStates(state) {
  for (const [kind, form] of Object.entries(forms)) {
    const text = state[kind] ? outcome(state[`${kind}_state`]) || "No message yet." : "";
    const status = $("[role=status]", form);
    if (status.textContent !== text && !status.dataset.kept) status.textContent = text;
  }
}

function draw(state) {
  for (const [kind, form] of Object.entries(forms)) {
    const settings = state[kind] ?? {};
    for (const name of ["url", "user", "topic"]) if (form.elements[name]) form.elements[name].value = settings[name] ?? "";
    for (const name of ["secret", "password", "certificate"]) if (form.elements[name]) form.elements[name].value = "";
    form.elements.certificate.placeholder = settings.has_certificate ? "empty: keep it" : "empty: those of the router's system";
    $("[data-remove]", form).hidden = !state[kind];
  }
  drawStates(state);
}

async function attempt(work) {
  $(".problem", dialog).textContent = "";
  try {
    await work();
  } catch (error) {
    $(".problem", dialog).textContent = error.message;
  }
}

const change = (body) => attempt(async () => {
  for (const form of Object.values(forms)) delete $("[role=status]", form).dataset.kept;
  const state = await call("POST", "messages", body);
  draw(state);
  if (!state.new_secret) return;
  const status = $("[role=status]", forms.webhook);
  status.textContent = `The secret, which is not shown again: ${state.new_secret}`;
  status.dataset.kept = "yes";
});

for (const [kind, form] of Object.entries(forms)) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Empty fields keep what is stored.
    const fields = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
    change({ [kind]: fields });
  });
  $("[data-remove]", form).addEventListener("click", () => change({ [kind]: null }));
}
$("#messages-test").addEventListener("click", () => attempt(() => call("POST", "messages/test")));
$("#messages-open").addEventListener("click", async () => {
  // Shown after it is filled: a late answer would overwrite what a person has typed.
  await attempt(async () => draw(await call("GET", "messages")));
  dialog.showModal();
  timer = setInterval(() => call("GET", "messages").then(drawStates, () => {}), 2000);
});
dialog.addEventListener("close", () => {
  clearInterval(timer);
  // A new secret does not stay in the page.
  const status = $("[role=status]", forms.webhook);
  status.textContent = "";
  delete status.dataset.kept;
});
