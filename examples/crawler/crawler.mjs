// A polite crawler: each origin gets at most so many requests a second, and none while it has asked to wait
// with 429 or 503 and Retry-After. Over all origins, a bounded number of requests is in flight.
import { Agent, interceptors, request } from 'undici';
import { KeyedTokenBucket, Semaphore } from 'zerotime';
import { rateLimit } from 'zerotime/undici';

const MOST_PAGES = 10_000;

/**
 * Fetches each page that can be reached from `start`, once, and calls `onPage` with it.
 * @param {readonly string[]} start
 * @param {(url: string, status: number) => void} onPage
 * @param {{ rate?: number, burst?: number, inFlight?: number }} [limits]
 */
export async function crawl(start, onPage, { rate = 2, burst = 1, inFlight = 10 } = {}) {
  const agent = new Agent();
  const dispatcher = agent.compose(
    rateLimit({
      limiter: KeyedTokenBucket.create({ rate, burst, capacity: 1000 }), // origins
      semaphore: Semaphore.create({ permits: inFlight }),
    }),
    // After rateLimit, so that each attempt takes a token and waits as long as Retry-After says.
    interceptors.retry({ maxRetries: 5, minTimeout: 10 }),
  );
  const seen = new Set(start);
  const pending = new Set(start.map(visit));

  /** @param {string} url @returns {Promise<void>} */
  async function visit(url) {
    const { statusCode, headers, body } = await request(url, { dispatcher });
    const text = await body.text();
    onPage(url, statusCode);
    if (!`${headers['content-type']}`.startsWith('text/html')) return;
    for (const [, href = ''] of text.matchAll(/<a href="([^"]+)"/g)) {
      const link = new URL(href, url).href;
      if (!URL.canParse(href, url) || seen.has(link) || seen.size === MOST_PAGES) continue;
      seen.add(link);
      pending.add(visit(link));
    }
  }

  for (const page of pending) await page; // also those that are added meanwhile
  await agent.close();
}
