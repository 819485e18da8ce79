// Shared by board and details: calls of the API.

export { $, bytes, element, rate } from "./elements.js";

/// Time of the day of a Unix time.
export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { timeStyle: "short" });

/// Date and time of a Unix time.
export const when = (seconds) => (seconds === null ? "not since the start" : new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));

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
