// A polite crawler: each origin gets at most so many requests a second, and none while it has asked to wait
// with 429 or 503 and Retry-After. Over all origins, a bounded number of requests is in flight.
import { Agent, interceptors, request } from 'undici';
import { KeyedTokenBucket, Semaphore } from 'zerotime';
import { rateLimit } from 'zerotime/undici';

const MOST_PAGES = 10_000;

/**
 * The links of a page to other pages, without the parts after `#`.
 * @param {string} text
 * @param {string} url
 */
function* linksOf(text, url) {
  for (const [, href = ''] of text.matchAll(/<a href="([^"]+)"/g)) {
    if (!URL.canParse(href, url)) continue;
    const link = new URL(href, url);
    link.hash = '';
    if (/^https?:$/.test(link.protocol)) yield link.href;
  }
}

/**
 * Fetches each page that can be reached from `start`, once, and calls `onPage` with it. The status of a
 * page that gave no answer is 0.
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
    const { status, text } = await fetchPage(url).catch(({ statusCode = 0 }) => ({
      status: statusCode, // that of the last attempt
      text: '',
    }));
    onPage(url, status);
    for (const link of linksOf(text, url)) {
      if (seen.has(link) || seen.size === MOST_PAGES) continue;
      seen.add(link);
      pending.add(visit(link));
    }
  }

  /** @param {string} url */
  async function fetchPage(url) {
    const { statusCode, headers, body } = await request(url, { dispatcher });
    const text = await body.text();
    const isPage = `${headers['content-type']}`.startsWith('text/html');
    return { status: statusCode, text: isPage ? text : '' };
  }

  for (const page of pending) await page; // also those that are added meanwhile
  await agent.close();
}
