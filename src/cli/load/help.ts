import { EXIT_CODES } from './exit-code.ts';

/** What the help says after the options. */
export const HELP = `
All threads share one limiter, so --rate is their total rate. It is met exactly and never exceeded
in any interval. Latency is measured from the instant at which a request was due, so a stalled
server cannot hide its stall by delaying later requests. Requests that time out, or get no
connection within 250 ms after the end, count with the time that they waited.

The start is warm: the connections that the rate needs at first are open, and code is compiled,
before the first request is due, with no request to your server. --warmup also warms up the server,
with requests that count nowhere.

On a terminal, the keys + and - change the rate by 10 % once a line has announced them. --ramp changes
it in small steps. Scheduled requests move with the rate, and the guarantee is checked across all
changes.

--arrivals poisson sends at random instants, as many as --rate says; --seed repeats them. --arrivals
FILE sends one request for each line, at the instant in it: seconds, or a timestamp as of an access
log, counted from the first line. Each instant is sent once, whatever thread sends it.

With --processes 2, two processes of --threads each share --rate and --connections, and their limiter
in memory. This needs Linux, and the package koffi or Node.js 26.9. Use it if one process is the
limit, for example its number of open files.

With --redis, several processes on any machines share --rate through a Redis server. Give all of
them the same --rate and --burst. This needs the package redis, and one Redis command per request.
When a process ends, the requests that it has reserved ahead, up to 100 ms of the rate, are not sent.

A module is called in place of requests: zerotime load ./task.mjs calls its default export at each due
instant. It may export setup and teardown, too. A call succeeds if it neither throws nor rejects.

A request succeeds if it gets a response with a status below 400. Ctrl-C ends the run early, with a
summary; a second one ends it at once.

For continuous integration, gates bound the result: --max-p99 20ms, --max-errors 1%, --min-rate 99%.
The summary has a line for each gate that failed. Unless you say otherwise, a run fails if more than
half of its requests failed, or less than half of the rate was sent.

${EXIT_CODES}
Examples:
  zerotime load                                      2,000/s for 10 s against an embedded server
  zerotime load http://localhost:8080/ --rate 500 --duration 1m
  zerotime load http://localhost:8080/ --redis redis://localhost:6379    on several machines
  zerotime load http://localhost:8080/ --max-p99 20ms --max-errors 1%    in continuous integration
  zerotime load http://localhost:8080/ --arrivals poisson --seed 1       as many visitors would come
  zerotime load https://localhost:8443/ --http2 --insecure               over HTTP/2
  zerotime load ./task.mjs --rate 100 --concurrency 50                   your own code
  zerotime load http://localhost:8080/ --json before.json                for zerotime compare
  zerotime load http://localhost:8080/items --body @item.json -H 'Content-Type: application/json'
`;
