import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { ChangeLog, type RecordedChange, type Values } from '../../src/host/change-log.ts';
import { TokenBucket } from '../../src/index.ts';
import { host, inRegion, regionWith } from '../cli/support/operated.ts';
import { compiled } from '../support/crew.ts';
import { part, Random, SEED } from '../support/random.ts';

const CHANGES = part(100, 20);
const TAKERS = 4;
/** A bucket that is idle for a while loses nothing. */
const BURST = 1000;
const MOST_RATE = 5000;

/** A process that takes tokens. */
async function start(path: string): Promise<ChildProcess> {
  const child = fork(compiled('operator'), [path, 'take'], { execArgv: [], stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

/** The most tokens that flow in under a rate of 1, and then under limits as a record says. */
function mostAdmitted(changes: readonly RecordedChange[], sinceMs: number, untilMs: number) {
  let tokens = ((changes[0]?.begunMs ?? untilMs) + 1 - sinceMs) / 1000;
  for (const [i, { to, from, begunMs, endedMs }] of changes.entries()) {
    const [old, rate] = [from, to].map((values) => Number((values as Values)['rate']));
    // Instants are rounded down to milliseconds.
    const changingMs = endedMs + 1 - begunMs;
    const nextMs = (changes[i + 1]?.begunMs ?? untilMs) + 1;
    tokens += (Math.max(old ?? 0, rate ?? 0) * changingMs) / 1000;
    tokens += ((rate ?? 0) * Math.max(0, nextMs - endedMs)) / 1000;
  }
  return tokens;
}

test(`under load, the limit holds across changes, as the record says (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const sinceMs = Date.now();
  const options = { rate: 1, burst: BURST, initial: 0 };
  const path = regionWith((region) => TokenBucket.open(region, 'api', options));
  const takers = await Promise.all(Array.from({ length: TAKERS }, () => start(path)));
  for (let i = 0; i < CHANGES; i++) {
    const rate = 10 + random.below(MOST_RATE);
    expect(await host('set', path, 'api', `rate=${rate}`)).toMatchObject({ code: 0 });
  }
  const ask = (message: string) =>
    Promise.all(
      takers.map(async (taker) => {
        taker.send(message);
        const [count] = await once(taker, 'message');
        return Number(count);
      }),
    );
  // Until each of them has taken some.
  while ((await ask('count')).includes(0));
  const taken = await ask('stop');
  const most = inRegion(path, (region) => {
    const changes = ChangeLog.find(region)?.changes() ?? [];
    expect(changes).toHaveLength(CHANGES);
    return mostAdmitted(changes, sinceMs, Date.now());
  });
  const sum = taken.reduce((all, count) => all + count, 0);
  expect(sum).toBeLessThanOrEqual(most);
});
