import { describe, expect, it } from 'vitest';
import { FixedWindow, ManualClock } from '../../src/index.ts';
import { admittedOf } from '../support/admitted.ts';
import { TwoStepWindow } from '../support/two-step-window.ts';
import { Gate, nextMessage, startThread } from '../support/window-threads.ts';
import type { OpenerData } from '../workers/window-opener.ts';

const LIMIT = 5;
const INTERVAL_MS = 100;

/**
 * Holds a thread while it opens a window, until another window has been opened and filled. Returns
 * what that window admits before and after the thread continues.
 */
async function windowWithLateOpener(
  limiter: { tryConsume(): boolean },
  clock: ManualClock,
  opener: Omit<OpenerData, 'gate'>,
): Promise<{ before: number; after: number; opener: boolean }> {
  expect(admittedOf(LIMIT + 1, limiter)).toBe(LIMIT);
  clock.advance(INTERVAL_MS);
  const gate = new Gate();
  const thread = startThread('window-opener', { ...opener, gate: gate.buffer });
  expect(await nextMessage(thread)).toBe('held');
  clock.advance(INTERVAL_MS / 2);
  admittedOf(LIMIT, limiter);
  clock.advance(INTERVAL_MS);
  const before = admittedOf(3 * LIMIT, limiter);
  const allowed = nextMessage<boolean>(thread);
  gate.open();
  const opened = await allowed;
  return { before, after: admittedOf(3 * LIMIT, limiter), opener: opened };
}

describe('a thread that is held while it opens a window, for more than an interval', () => {
  it('wipes the count of a later window if start and count are two words', async () => {
    const clock = ManualClock.create();
    const window = TwoStepWindow.create(LIMIT, INTERVAL_MS, clock);
    const seen = await windowWithLateOpener(window, clock, {
      at: 'between the steps',
      handle: window.handle,
    });
    // 9 of a limit of 5 in one window, at one instant.
    expect(seen).toEqual({ before: LIMIT, after: LIMIT - 1, opener: true });
  });

  it.each([
    { at: 'before the exchange', opener: false },
    { at: 'after the exchange', opener: true },
  ] as const)('wipes nothing in a FixedWindow: held $at', async ({ at, opener }) => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: LIMIT, intervalMs: INTERVAL_MS, clock });
    const seen = await windowWithLateOpener(window, clock, { at, handle: window.handle });
    expect(seen).toEqual({ before: LIMIT, after: 0, opener });
  });
});
