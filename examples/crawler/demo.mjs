// Two sites that link to each other, one of which asks for a break, and the crawler that visits them.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { crawl } from './crawler.mjs';

const PAGES = 12;
const LIMITS = { rate: 50, burst: 2, inFlight: 4 };

/** What each site saw: instants by the server's clock, in milliseconds. */
const arrivals = { a: /** @type {number[]} */ ([]), b: /** @type {number[]} */ ([]) };
let breakMs = 0;
let duringBreak = 0;

/**
 * @param {'a' | 'b'} name
 * @param {() => string} other
 */
async function site(name, other) {
  const server = createServer((request, response) => {
    const nowMs = performance.now();
    arrivals[name].push(nowMs);
    const page = Number((request.url ?? '').slice(1));
    if (name === 'b' && page === 3 && breakMs === 0) {
      breakMs = nowMs;
      response.writeHead(429, { 'retry-after': '1' }).end();
      return;
    }
    // Requests that were on their way when the site asked for a break arrive within some milliseconds.
    const sinceMs = nowMs - breakMs;
    if (name === 'b' && breakMs > 0 && sinceMs > 250 && sinceMs < 900) duringBreak++;
    const next = page + 1 < PAGES ? `<a href="/${page + 1}">next</a>` : '';
    response.setHeader('content-type', 'text/html');
    response.end(`${next} <a href="${other()}/${page}">elsewhere</a>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { server, origin: `http://127.0.0.1:${port}` };
}

const a = await site('a', () => b.origin);
const b = await site('b', () => a.origin);

const pages = new Map();
const startMs = performance.now();
await crawl([`${a.origin}/0`], (url, status) => pages.set(url, status), LIMITS);
const seconds = (performance.now() - startMs) / 1000;

console.log(
  `${pages.size} pages, ${[...pages.values()].filter((status) => status === 200).length} fine`,
);
for (const [name, { length }] of Object.entries(arrivals)) {
  const most = LIMITS.burst + LIMITS.rate * seconds;
  console.log(
    `site ${name}: ${length} requests in ${seconds.toFixed(3)} s, at most ${most.toFixed(1)}`,
  );
}
console.log(`site b during its break: ${duringBreak}`);
a.server.close();
b.server.close();
