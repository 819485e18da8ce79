// Events of a server, for any page. It knows neither homes nor devices.
//
// A reader gives the id after which it wants news. The browser comes back by itself after an interruption, with the id of the last
// event. Where the server has lost some, or no longer lets us in, `reload` is called: the reader reads everything again.

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
    // A refusal ends the source for good; an interruption does not.
    if (events.readyState === EventSource.CLOSED) timer = setTimeout(reload, RETRY);
  });
  return stop;
}
