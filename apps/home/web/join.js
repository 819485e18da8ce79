// The page for guests: sends the code of the link.

const state = document.querySelector("#state");
const code = location.hash.slice(1);
// The code does not stay in the history.
history.replaceState(null, "", "/");

async function join() {
  if (!code) return "This link has no code. Scan the QR code again.";
  const answer = await fetch("/join", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
  const { error } = await answer.json();
  if (error) return `${error[0].toUpperCase()}${error.slice(1)}.`;
  return "Welcome. This device may use the network now.";
}

join().catch(() => "The router does not answer. Try again.").then((text) => { state.textContent = text; });
