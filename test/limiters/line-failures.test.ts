import { describe, expect, it, vi } from 'vitest';
import { FixedWindow, ManualClock, TokenBucket } from '../../src/index.ts';
import { Line } from '../../src/limiters/line.ts';
import { checkWait, Pauses, waitHere } from '../../src/limiters/waiting.ts';
import { settled } from '../support/settled.ts';

describe('a line whose attempts fail', () => {
  const never = { code: 'ERR_RATE_LIMIT_TIMEOUT' };

  /** Refuses, although tokens seem to be available. */
  function contended(clock: ManualClock, attempts: number[]) {
    const refusal = () => ({ retryAtUs: clock.now() });
    const attempt = () => {
      attempts.push(clock.now());
      return false;
    };
    return { clock, limit: 1, timeUntil: () => 0, attempt, look: refusal };
  }

  it('pauses longer and longer, at most 10 ms, and never retries at once', async () => {
    const clock = ManualClock.create();
    const attempts: number[] = [];
    const line = new Line(contended(clock, attempts));
    const wait = line.wait(1, checkWait({ timeoutMs: 60 }));
    const failed = expect(wait).rejects.toMatchObject(never);
    for (let us = 0; us <= 60_000; us += 50) {
      clock.set(us / 1000);
      await settled(2);
    }
    await failed;
    const pauses = attempts.map((us, i) => us - (attempts[i - 1] ?? 0)).slice(1);
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1600, 3200, 6400, 1e4, 1e4, 1e4, 1e4, 7250]);
  });

  it('starts with the shortest pause after a refusal that says when to retry', () => {
    const pauses = new Pauses();
    expect([100, 100, 300, 100].map((retryAtUs) => pauses.retryAtUs({ retryAtUs }, 200))).toEqual([
      250, 300, 300, 250,
    ]);
  });

  it('goes on with the next as soon as the time of its head is over', async () => {
    const clock = ManualClock.create();
    const refusal = () => ({ retryAtUs: clock.now() });
    const attempt = (n: number) => n !== 2;
    const line = new Line({ clock, limit: 2, timeUntil: () => 0, attempt, look: refusal });
    const failed = expect(line.wait(2, checkWait({ timeoutMs: 1 }))).rejects.toMatchObject(never);
    const next = line.wait(1, checkWait({}));
    for (let us = 50; us <= 1000; us += 50) {
      clock.set(us / 1000);
      await settled(2);
    }
    await failed;
    expect(await next).toEqual({ waitedMs: 1 });
  });

  it('pauses in a blocking wait as well', () => {
    const clock = ManualClock.create();
    const attempts: number[] = [];
    vi.spyOn(clock, 'sleepSync').mockImplementation((untilUs) => clock.set(untilUs / 1000));
    expect(
      waitHere(contended(clock, attempts), 1, {
        timeoutMs: 1,
        strict: false,
        precise: true,
      }),
    ).toBe(false);
    expect(attempts).toEqual([0, 50, 150, 350, 750]);
  });

  it('rejects the head with what an attempt throws, and serves the next', async () => {
    const clock = ManualClock.create();
    const damaged = new Error('damaged');
    let isDamaged = false;
    const attempt = () => {
      if (isDamaged) {
        isDamaged = false;
        throw damaged;
      }
      return clock.now() >= 1000;
    };
    const look = () => ({ retryAtUs: 1000 });
    const line = new Line({ clock, limit: 1, timeUntil: () => 0, attempt, look });
    const first = line.wait(1, checkWait({}));
    const second = line.wait(1, checkWait({}));
    isDamaged = true;
    clock.set(1);
    await expect(first).rejects.toBe(damaged);
    expect(await second).toEqual({ waitedMs: 1 });
  });

  it('counts its callers once, if the clock fails while one is served', async () => {
    const clock = ManualClock.create();
    const failed = new Error('no time');
    let isFailing = false;
    const attempt = () => {
      if (clock.now() < 1000 || !isFailing) return false;
      isFailing = false;
      vi.spyOn(clock, 'now').mockImplementationOnce(() => {
        throw failed;
      });
      return true;
    };
    const look = () => ({ retryAtUs: clock.now() < 1000 ? 1000 : 2000 });
    const line = new Line({ clock, limit: 1, timeUntil: () => 0, attempt, look });
    const first = line.wait(1, checkWait({}));
    const leave = new AbortController();
    const second = line.wait(1, checkWait({ signal: leave.signal }));
    isFailing = true;
    clock.set(1);
    await expect(first).rejects.toBe(failed);
    expect(line.length).toBe(1);
    leave.abort(failed);
    await expect(second).rejects.toBe(failed);
    expect(line.length).toBe(0);
  });

  const EMPTY = [
    (clock: ManualClock) => FixedWindow.create({ limit: 1, intervalMs: 1000, initial: 0, clock }),
    (clock: ManualClock) => TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock }),
  ] as const;

  it.each(EMPTY)('rejects everyone if the clock fails when the limit changes: %#', async (make) => {
    const clock = ManualClock.create();
    const window = make(clock);
    const failed = new Error('no time');
    const waits = [window.wait(), window.wait()];
    await settled(2);
    vi.spyOn(clock, 'now').mockImplementation(() => {
      throw failed;
    });
    window.changes.fire();
    for (const wait of waits) await expect(wait).rejects.toBe(failed);
    expect(window.waiting).toBe(0);
  });

  it('rejects everyone if the clock fails when one leaves', async () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 1, intervalMs: 1000, initial: 0, clock });
    const leave = new AbortController();
    const reason = new Error('left');
    const failed = new Error('no time');
    const first = window.wait(1, { signal: leave.signal });
    const second = window.wait();
    await settled(2);
    vi.spyOn(clock, 'now').mockImplementation(() => {
      throw failed;
    });
    // An error in the signal's listener would reach nobody, and end the process.
    leave.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(second).rejects.toBe(failed);
    expect(window.waiting).toBe(0);
  });
});
