import { get as request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { allOf, type Decision, ManualClock, Semaphore, TokenBucket } from '../../../src/index.ts';
import { FRAMEWORKS } from '../../support/frameworks.ts';
import { get } from '../../support/http-get.ts';

const clock = ManualClock.create();

function adaptive(): Semaphore {
  return Semaphore.create({ permits: { max: 1 }, adapt: 'gradient', clock });
}

/** Starts a request whose response never ends. The function that it returns leaves. */
async function hold(url: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}held`, (response) => {
      response.on('error', () => undefined);
      response.once('data', () => resolve(() => void sent.destroy()));
    });
    sent.once('error', reject);
  });
}

/** Resolves once all permits are back, and takes none. */
async function areBack(semaphore: Semaphore): Promise<void> {
  (await semaphore.acquire(semaphore.permits)).release({ outcome: 'ignore' });
}

describe.each(Object.entries(FRAMEWORKS))('with %s', (_name, serve) => {
  test('a request without a free permit gets 503, until the response of another ends', async () => {
    const semaphore = Semaphore.create({ permits: 2 });
    const url = await serve({ limiter: semaphore });
    const leave = await hold(url);
    expect((await get(url)).status).toBe(200);
    const leaveToo = await hold(url);
    expect(semaphore.inUse()).toBe(2);
    const { status, body, fields } = await get(url);
    expect([status, body]).toEqual([503, 'Service unavailable\n']);
    expect(Object.keys(fields)).toEqual(['content-type']);
    leave();
    leaveToo();
    await areBack(semaphore);
    expect((await get(url)).status).toBe(200);
  });

  test('the permit of a request that fails comes back', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const statuses: unknown[] = [];
    const outcomeOf = (_: object, status: number | undefined) => {
      statuses.push(status);
      return 'ok' as const;
    };
    const url = await serve({ limiter: semaphore, outcomeOf });
    expect((await get(`${url}fails`)).status).toBe(500);
    await areBack(semaphore);
    expect(statuses).toEqual([500]);
  });

  test('503 and 504 count as dropped; 429 and clients that leave do not', async () => {
    const semaphore = adaptive();
    const url = await serve({ limiter: semaphore });
    for (const [status, dropped] of [
      [200, 0],
      [500, 0],
      [429, 0],
      [503, 1],
      [504, 2],
    ]) {
      expect((await get(`${url}status/${status}`)).status).toBe(status);
      await areBack(semaphore);
      expect(semaphore.adaptation?.dropped, `${status}`).toBe(dropped);
    }
    (await hold(url))();
    await areBack(semaphore);
    expect(semaphore.adaptation?.dropped).toBe(2);
  });

  test('outcomeOf decides otherwise, and returns the permit even if it throws', async () => {
    const semaphore = adaptive();
    const seen: unknown[] = [];
    const errors: unknown[] = [];
    const url = await serve({
      limiter: semaphore,
      outcomeOf: (_, status) => {
        seen.push(status);
        if (status === 200) throw new Error('in outcomeOf');
        return 'dropped';
      },
      onError: (error) => errors.push(error),
    });
    await get(url);
    await areBack(semaphore);
    expect(errors).toEqual([new Error('in outcomeOf')]);
    (await hold(url))();
    await areBack(semaphore);
    expect(seen).toEqual([200, undefined]);
    expect(semaphore.adaptation?.dropped).toBe(1);
  });

  test('an allOf refuses with 429 without tokens, and with 503 without a permit', async () => {
    const semaphore = Semaphore.create({ permits: 1, clock });
    const bucket = TokenBucket.create({ rate: 0.5, burst: 3, clock });
    const url = await serve({ limiter: () => allOf(semaphore, bucket) });
    const leave = await hold(url);
    const full = await get(url);
    expect([full.status, full.fields['retry-after']]).toEqual([503, undefined]);
    expect(bucket.available()).toBe(2);
    leave();
    await areBack(semaphore);
    for (const left of [1, 0]) {
      expect((await get(url)).fields['ratelimit']).toBe(`"default";r=${left};t=2`);
      await areBack(semaphore);
    }
    const { status, fields } = await get(url);
    expect([status, fields['retry-after']]).toEqual([429, '2']);
    expect(semaphore.inUse()).toBe(0);
  });

  test('onLimit and a handler get the decision: when a permit comes back is unknown', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const refusals: Decision[] = [];
    const limits = {
      limiter: semaphore,
      onLimit: (_: object, one: Decision) => refusals.push(one),
    };
    const url = await serve(limits, true);
    const leave = await hold(url);
    const { status, body } = await get(url);
    expect([status, body]).toEqual([418, 'later: 418 Infinity']);
    expect(refusals).toEqual([
      {
        ...{ allowed: false, limit: 1, remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY },
        resetMs: Number.POSITIVE_INFINITY,
        nextTokenMs: Number.POSITIVE_INFINITY,
      },
    ]);
    leave();
    await areBack(semaphore);
  });

  test('a request whose other limit refuses gives its permit back', async () => {
    const semaphore = adaptive();
    const bucket = TokenBucket.create({ rate: 0.5, burst: 1, clock });
    const url = await serve({ limiter: semaphore }, false, [{ limiter: bucket }]);
    expect((await get(url)).status).toBe(200);
    await areBack(semaphore);
    expect((await get(url)).status).toBe(429);
    await areBack(semaphore);
    expect(semaphore.adaptation?.dropped).toBe(0);
  });

  test('problemJson says 503, and a permit that expired does not fail the response', async () => {
    const semaphore = Semaphore.create({ permits: 1, holdMs: 1, clock });
    const url = await serve({
      limiter: semaphore,
      problemJson: true,
      onError: () => expect.unreachable(),
    });
    const leave = await hold(url);
    const { status, body } = await get(url);
    expect([status, JSON.parse(body)]).toEqual([
      503,
      { type: 'about:blank', title: 'Service Unavailable', status: 503 },
    ]);
    clock.advance(2);
    expect((await get(url)).status).toBe(200);
    leave();
    await areBack(semaphore);
  });

  test('misuse fails', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const url = await serve({ limiter: semaphore, cost: () => 0.5, onError: () => undefined });
    expect((await get(url)).status).toBe(500);
    await expect(serve({ limiter: semaphore, key: () => 'ann' })).rejects.toThrow(
      'key must be left out: the limiter has no keys',
    );
    await expect(serve({ limiter: semaphore, outcomeOf: 'ok' as never })).rejects.toThrow(
      'outcomeOf must be a function, got "ok"',
    );
  });
});
