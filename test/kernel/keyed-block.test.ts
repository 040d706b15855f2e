import { expect, test } from 'vitest';
import { perInterval } from '../../src/kernel/bucket/schedule.ts';
import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { HostedKeyed, type KeyedEngine } from '../../src/kernel/keyed/host.ts';
import { Region } from '../../src/limiters/region.ts';
import { newMemory } from '../mutants/engine.ts';
import { stepped } from '../mutants/targets.ts';
import { Random, SEED } from '../support/random.ts';

test(`a block without end ends as a call, in windows of any length (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (let i = 0; i < 200; i++) {
    const quantum = 1e6 + random.below(2e6);
    const intervalMs = quantum / 1000 / random.logarithmic(1, 100);
    const schedule = perInterval(quantum, intervalMs, Math.ceil(quantum / 2));
    const memory = newMemory();
    const place = createKeyedCell({
      ...{
        kind: 'keyed-token-bucket',
        limits: tableLimits([schedule]),
        nowUs: 0,
        capacity: 1,
        whenFull: 'refuse',
      },
      ...{ stats: false, kernel: undefined },
      region: Region.create({ buffer: memory.buffer as SharedArrayBuffer }), // of newMemory
    });
    const readClock = () => 0;
    // It throws if a call goes on without end.
    const target = stepped('atomics')('keyed', memory, { readClock, stopped: () => undefined });
    const bounded = (name: string) => [
      name,
      (...args: unknown[]) => target.call(name, args, 0).answer,
    ];
    const engine: KeyedEngine = Object.fromEntries(Object.keys(target.exports).map(bounded));
    const buckets = new HostedKeyed({ engine, name: 'atomics' }, place);
    buckets.seek(7, 5);
    buckets.charge(0, random.below(2) * random.below(50 * quantum));
    expect(buckets.block(0, Infinity), `a window of ${schedule.fillTicks} ticks`).toBe(true);
    expect(buckets.balance(0)).toBeLessThanOrEqual(0);
  }
});
