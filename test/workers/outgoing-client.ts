import { Agent, request } from 'undici';
import { type LimiterHandle, Semaphore, TokenBucket } from '../../src/index.ts';
import { rateLimitedFetch } from '../../src/integrations/fetch.ts';
import { rateLimit } from '../../src/integrations/undici.ts';
import { serve } from '../support/serve.ts';

/** Requests that a thread sends concurrently, and their limiters. */
export interface OutgoingJob {
  readonly url: string;
  readonly requests: number;
  readonly limiter: LimiterHandle<'token-bucket'>;
  readonly semaphore: LimiterHandle<'semaphore'>;
}

/** Sends them, with undici in every second thread; returns how many were answered. */
serve<OutgoingJob, number>(async ({ url, requests, ...handles }, me) => {
  const options = {
    limiter: TokenBucket.attach(handles.limiter),
    semaphore: Semaphore.attach(handles.semaphore),
    timeoutMs: 60_000,
  };
  const agent = new Agent();
  const dispatcher = agent.compose(rateLimit(options));
  const fetch = rateLimitedFetch(options);
  const send = async () =>
    me % 2 === 0 ? (await request(url, { dispatcher })).body.text() : (await fetch(url)).text();
  const all = await Promise.allSettled(Array.from({ length: requests }, send));
  await agent.close();
  return all.filter(({ status }) => status === 'fulfilled').length;
});
