import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock, systemClock, TickerClock, TokenBucket } from '../../src/index.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { handleFor, KERNEL_MIXES } from '../support/kernels.ts';
import { settled, until } from '../support/settled.ts';

const timedOut = expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' });

/** The clock's time when each of these waits ends. */
function ends(clock: ManualClock, waits: readonly Promise<unknown>[]): (number | undefined)[] {
  const over: (number | undefined)[] = waits.map(() => undefined);
  waits.forEach((wait, i) => {
    wait.then(() => {
      over[i] = clock.nowMs;
    });
  });
  return over;
}

describe.each(KERNEL_MIXES)('a wait of $mix kernels', ({ kernels }) => {
  function emptied(limit: { rate: number; burst: number }) {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ ...limit, initial: 0, clock });
    const attached = (me: number) => TokenBucket.attach(handleFor(bucket.handle, kernels, me));
    return { clock, bucket: attached(0), other: attached(1) };
  }

  test('ends without a move of the clock when the limit becomes infinite', async () => {
    const { clock, bucket, other } = emptied({ rate: 1e-6, burst: 100 });
    const wait = bucket.wait(100);
    await settled();
    other.reconfigure({ rate: Number.POSITIVE_INFINITY });
    await wait;
    expect(clock.nowMs).toBe(0);
  });

  test.each([1, 2, 3])(
    'does not end at its old instant if the limit changes at reading %d of the clock',
    async (at) => {
      const { clock, bucket, other } = emptied({ rate: 10, burst: 100 });
      // Each attached limiter has its own clock object.
      const now = bucket.clock.now.bind(bucket.clock);
      let looks = 0;
      bucket.clock.now = () => {
        const nowUs = now();
        if (++looks !== at) return nowUs;
        clock.set(50);
        other.reconfigure({ rate: 1 });
        clock.set(300);
        return at === 1 ? nowUs : now();
      };
      const over = ends(clock, [bucket.wait(2)]);
      for (const ms of [301, 1549]) {
        clock.set(ms);
        await settled();
      }
      expect(looks).toBeGreaterThanOrEqual(at);
      expect(over).toEqual([undefined]);
      clock.set(3000);
      await settled();
      expect(over).toEqual([3000]);
    },
  );

  test('that would now exceed its timeout ends at once, and its tokens lapse', async () => {
    const { clock, bucket, other } = emptied({ rate: 10, burst: 100 });
    const wait = bucket.wait(10, { timeoutMs: 1500 });
    other.reconfigure({ rate: 8 });
    clock.set(10);
    await settled();
    other.reconfigure({ rate: 5 });
    await expect(wait).rejects.toEqual(timedOut);
    expect(bucket.balance()).toBeCloseTo(0.08 - 10, 6);
  });

  test('that blocks and would now exceed its timeout ends at once, and its tokens lapse', () => {
    const { bucket, other } = emptied({ rate: 10, burst: 100 });
    const now = bucket.clock.now.bind(bucket.clock);
    let looks = 0;
    bucket.clock.now = () => {
      // After the reservation, and before it sleeps.
      if (++looks === 2) other.reconfigure({ rate: 5 });
      return now();
    };
    expect(bucket.waitSync(10, { timeoutMs: 1500 })).toBe(false);
    expect(bucket.balance()).toBe(-10);
  });

  test('whose timeout ends at its new instant is served', async () => {
    const { clock, bucket, other } = emptied({ rate: 10, burst: 100 });
    const wait = bucket.wait(10, { timeoutMs: 2000 });
    other.reconfigure({ rate: 5 });
    await settled();
    clock.set(2000);
    await wait;
    expect(bucket.balance()).toBe(0);
  });

  test('that is aborted together with a change rejects with the reason of its signal', async () => {
    const { bucket, other } = emptied({ rate: 10, burst: 100 });
    const abort = new AbortController();
    const wait = bucket.wait(10, { signal: abort.signal });
    other.reconfigure({ rate: 20 });
    abort.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
  });

  test('that is aborted after a change rejects with the reason of its signal, and its tokens are lost', async () => {
    const { bucket, other } = emptied({ rate: 10, burst: 100 });
    const abort = new AbortController();
    const wait = bucket.wait(10, { signal: abort.signal });
    other.reconfigure({ rate: 20 });
    await settled();
    expect(bucket.balance()).toBe(-10);
    abort.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    expect(bucket.balance()).toBe(-10);
  });

  test.each(['wait', 'waitSync'] as const)(
    '%s of other threads wakes at its new instant, in order',
    async (call) => {
      const THREADS = 3;
      const { clock, bucket } = emptied({ rate: 10, burst: 100 });
      const ended = new Gate();
      const crews = [];
      for (let me = 0; me < THREADS; me++) {
        const crew = await Crew.of('clocked', 'sleep', 1);
        const handle = handleFor(bucket.handle, kernels, me);
        crews.push(crew.run({ handle, call, waits: 1, ended: ended.buffer }));
        await until(() => bucket.balance() <= -(me + 1));
      }
      clock.set(50);
      bucket.reconfigure({ rate: 1 });
      // No caller wakes at the old instants.
      for (const ms of [100, 200, 300]) clock.set(ms);
      bucket.reconfigure({ rate: 0.5 });
      clock.set(1000); // 0.1 + 0.35 + ...: 1/2 token at 10/s, 1/4 at 1/s, 0.35 at 0.5/s
      bucket.reconfigure({ rate: 1000 });
      for (const [me, missing] of [-0.1, 0.9, 1.9].entries()) {
        clock.set(1000 + Math.max(0, missing));
        ended.await(me + 1);
      }
      const endedAt = (await Promise.all(crews)).flat(2);
      expect(endedAt).toEqual([1_000_000, 1_000_900, 1_001_900]);
    },
  );

  test.each(['wait', 'waitSync'] as const)(
    '%s on the system clock, which would last for years, ends when the rate goes up',
    async (call) => {
      const bucket = TokenBucket.create({ rate: 1e-6, burst: 10, initial: 0 });
      const crew = await Crew.of('clocked', 'sleep', 1);
      const handle = handleFor(bucket.handle, kernels, 0);
      const done = crew.run({ handle, call, waits: 2 });
      await until(() => bucket.balance() <= -0.9);
      bucket.reconfigure({ rate: 1e6 });
      await done;
    },
  );
});

test('blocked by a ticker clock wakes at a change, which does not put the clock ahead', async () => {
  const clock = await TickerClock.create({ periodMs: 1 });
  onTestFinished(() => clock.dispose());
  const bucket = TokenBucket.create({ rate: 1e-6, burst: 10, initial: 0, clock });
  const crew = await Crew.of('clocked', 'sleep', 1);
  const done = crew.run({ handle: bucket.handle, call: 'waitSync', waits: 1 });
  await until(() => bucket.balance() <= -0.9);
  bucket.reconfigure({ rate: 1e6 });
  for (const [endedAt] of await done) expect(endedAt).toBeLessThanOrEqual(systemClock.now());
});
