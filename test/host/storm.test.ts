import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { freePlaces } from '../../src/memory/layout.ts';
import { namesIn } from '../../src/memory/names.ts';
import { slotsOf } from '../support/cell.ts';
import { compiled } from '../support/crew.ts';
import { hostRegion } from '../support/host.ts';
import { leaked } from '../support/leaks.ts';
import { part } from '../support/random.ts';
import { BURST, KEY_BURST, KEYS, NAMES, PERMITS, stormLimiters } from '../support/storm-region.ts';

/** `ZEROTIME_SHARE=5` is a storm of 500. */
const KILLS = part(100, 5);
const AT_ONCE = 6;
/** The most tokens that one call takes, or a lease. */
const MOST_IN_FLIGHT = 16;

function start(path: string): ChildProcess {
  return fork(compiled('storm-user'), [path], { execArgv: [], stdio: 'inherit' });
}

test('processes that are killed at any instant lose no more than they were about to take', async () => {
  const region = hostRegion({ bytes: 1_048_576 });
  const other = `${region.path}-other`;
  onTestFinished(() => rmSync(other, { force: true }));
  const { bucket, changed, keyed, several, window, semaphore, named } = stormLimiters(region);
  let left = KILLS;
  let killed = 0;
  const kill = async () => {
    while (left-- > 0) {
      const child = start(region.path);
      const exit = once(child, 'exit');
      await Promise.race([once(child, 'message'), exit]);
      await after(Math.random() * 20);
      child.kill('SIGKILL');
      const [, signal] = await exit;
      if (signal === 'SIGKILL') killed++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, kill));
  expect(killed).toBe(KILLS);
  while (region.processes().length > 1) await after(10);

  for (const each of [bucket, changed]) {
    const admitted = each.stats().admitted;
    const taken = BURST - each.balance();
    expect(admitted).toBeGreaterThan(KILLS);
    expect(taken).toBeGreaterThanOrEqual(admitted);
    expect(taken - admitted).toBeLessThanOrEqual(KILLS * MOST_IN_FLIGHT);
  }
  for (const table of [keyed, several]) {
    let spent = 0;
    for (let key = 0; key < KEYS; key++) spent += KEY_BURST - table.available(key);
    const counted = table.stats().admitted ?? 0;
    expect(counted).toBeLessThanOrEqual(Math.round(spent));
    expect(Math.round(spent) - counted).toBeLessThanOrEqual(KILLS);
  }

  // Processes were killed inside changes of these, too.
  for (const each of [semaphore, bucket, changed, keyed, several, window])
    expect(leaked(each)).toBe('');
  expect(semaphore.tryAcquire(PERMITS)).toBeDefined();
  for (let number = 0; number < NAMES; number++) named(number);
  const names = [...namesIn(region)].map(({ name }) => name);
  expect(names).toHaveLength(new Set(names).size);
  expect(names).toHaveLength(NAMES + 7);
  region.close();
  // Every slot has come back, also that of this thread.
  const { free, named: slots } = slotsOf(region, several);
  expect(free).toHaveLength(freePlaces(1));
  expect(new Set([...free, ...slots]).size).toBe(free.length + slots.length);
  HostRegion.open({ path: region.path }).close();
  HostRegion.open({ path: other }).close();
});
