// Events of a server, for any page. Independent of homes and devices.
//
// A reader passes the id after which it wants news. After an interruption the browser reconnects by itself, with the id of the last
// event. If the server has lost events or refuses the connection, `reload` is called: the reader reads all state again.

const RETRY = 3000;

export function follow(url, after, on) {
  const events = new EventSource(`${url}?after=${encodeURIComponent(after)}`);
  let timer = 0;
  const stop = () => { clearTimeout(timer); events.close(); };
  const reload = () => { stop(); on.reload(); };
  const parsed = (handle) => (event) => handle(JSON.parse(event.data));
  events.addEventListener("open", () => on.state(true));
  events.addEventListener("news", parsed(on.news));
  events.addEventListener("figures", parsed(on.figures));
  events.addEventListener("reload", reload);
  events.addEventListener("signed-out", reload);
  events.addEventListener("error", () => {
    on.state(false);
    // A refusal closes the source; an interruption does not.
    if (events.readyState === EventSource.CLOSED) timer = setTimeout(reload, RETRY);
  });
  return stop;
}
