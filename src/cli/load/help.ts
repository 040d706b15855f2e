import { EXIT_CODES } from './outcome.ts';

/** The help text after the options. */
export const HELP = `
All threads share one limiter, so --rate is their total. No interval ever exceeds it. Latency counts
from the instant at which a request was due, so a server can't hide a stall by delaying later
requests. Requests that time out, or find no connection until 250 ms after the end, count with the
time they waited.

The run starts warm: before the first request is due, code is compiled and the first connections are
open, without a request to your server. To warm up the server as well, use --warmup.

On a terminal, + and - change the rate by 10 % once a line announces these keys. Scheduled
requests move with the rate, and the guarantee is checked across all changes. --ramp changes the rate
evenly: its requests are due as soon as the rate has brought them, and the keys have no effect.

--arrivals poisson sends at random instants at the mean --rate; --seed repeats them. --arrivals FILE
sends one request per line, at the instant on it: seconds, or a timestamp as in an access log, relative
to the first line. Each instant is sent exactly once, by any thread.

--processes 2 starts two processes with --threads each. They share --rate and --connections through
memory. Use it if one process is the bottleneck, for example by its number of open files. It needs
Linux, and Node.js 26.9 or the package koffi.

--redis shares --rate through a Redis server with processes on any machine. Give all of them the same
--rate and --burst. It needs the package redis, and one Redis command per request. A process that
ends does not send the requests that it has reserved, up to 100 ms of the rate.

To load your own code, give a module instead of a URL: zerotime load ./task.mjs calls its default
export at each due instant. The module may also export setup and teardown. A call succeeds if it
neither throws nor rejects. --data '{"rows":100}' passes JSON to setup. With --rate max, each thread
calls the module again as soon as a call ends, in --rounds rounds after a warm-up of 500 ms: a benchmark.

A request succeeds if it gets a response with a status below 400. Ctrl-C ends the run early, with a
summary; requests that are still in flight a second later count as failed. A second Ctrl-C exits
immediately.

For continuous integration, gates bound the result: --max-p99 20ms, --max-errors 1%, --min-rate 99%.
The summary has a line for each failed gate. By default a run fails if more than half of its requests
fail, or if less than 99.9 % of the rate is sent; a rate that misses by one request does not fail.

${EXIT_CODES}
Examples:
  zerotime load                                      2,000/s for 10 s against an embedded server
  zerotime load http://localhost:8080/ --rate 500 --duration 1m
  zerotime load http://localhost:8080/ --redis redis://localhost:6379    on several machines
  zerotime load http://localhost:8080/ --max-p99 20ms --max-errors 1%    in continuous integration
  zerotime load http://localhost:8080/ --arrivals poisson --seed 1       like many independent visitors
  zerotime load https://localhost:8443/ --http2 --insecure               over HTTP/2
  zerotime load ./task.mjs --rate 100 --concurrency 50                   your own code
  zerotime load ./task.mjs --rate max --threads 2                        as fast as it can
  zerotime load http://localhost:8080/ --json before.json                for zerotime compare
  zerotime load http://localhost:8080/items --body @item.json -H 'Content-Type: application/json'
`;
