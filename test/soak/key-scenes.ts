import { attach, type ContinuousLimit, type LimiterHandle } from '../../src/index.ts';
import { leaked } from '../support/leaks.ts';
import type { Random } from '../support/random.ts';
import { BURST, HOLD, keyOf, type SoakJob, type Work } from './job.ts';
import type { Ledger } from './ledger.ts';
import type { Place, Scene } from './scene.ts';

/** A table with a limit of every key, alone or beside one that allows more. */
function tableOf(place: Place, limit: ContinuousLimit, capacity: number, isAlone: boolean) {
  if (isAlone) return place.table({ ...limit, capacity, whenFull: 'refuse' });
  const { rate, burst } = limit;
  const limits = [{ rate: 2 * rate, burst: 2 * burst }, limit];
  return place.setTable({ limits, capacity, whenFull: 'refuse' });
}

/** A table with room for every key: each key's total is exact. */
export function keyScene(place: Place, isAlone = true): Scene {
  const { clock } = place;
  const accounts = 24;
  const rate = 1000;
  const table = tableOf(place, { rate, burst: BURST }, 64, isAlone);
  const keys = Array.from({ length: accounts }, (_, account) => keyOf(account));
  // Half full: none gets full, so all keep their entries.
  for (const key of keys) table.consumeOrDrain(key, BURST / 2);
  const expected = keys.map((key) => table.balance(key));
  return {
    name: isAlone ? 'keys, to the token' : 'keys with two limits, to the token',
    work: 'key',
    accounts,
    clock,
    handle: table.handle,
    back: true,
    moved: (ms) => {
      for (const account of keys.keys())
        expected[account] = (expected[account] ?? 0) + (rate * ms) / 1000;
    },
    disturb: () => undefined,
    audit: ({ ledger }) => {
      let violation = '';
      let exact = true;
      for (const [account, key] of keys.entries()) {
        const { least, most } = ledger.bounds(account);
        const balance = table.balance(key);
        const missing = (expected[account] ?? 0) - balance;
        exact &&= least === most;
        if (missing < least || missing > most) {
          violation ||= `${missing} tokens of ${key} are gone, the threads took ${least} to ${most}`;
        }
        expected[account] = balance;
      }
      return { exact, violation };
    },
  };
}

/** Ten times as many keys as the table has room for: no key gets more than burst + rate x t. */
export function crowdScene(place: Place, isAlone = true): Scene {
  const { clock } = place;
  const accounts = 160;
  const [rate, burst] = [100, 5];
  const capacity = 16;
  const table = tableOf(place, { rate, burst }, capacity, isAlone);
  let startMs = clock.nowMs;
  return {
    name: isAlone ? 'keys in a crowded table' : 'keys with two limits in a crowded table',
    work: 'crowd',
    accounts,
    clock,
    handle: table.handle,
    back: false,
    moved: () => undefined,
    disturb: () => undefined,
    audit: ({ ledger }) => {
      const allowed = burst + (rate * (clock.nowMs - startMs)) / 1000;
      let violation = '';
      for (let account = 0; account < accounts; account++) {
        const { least } = ledger.bounds(account);
        if (least > allowed)
          violation ||= `${keyOf(account)} got ${least} tokens, ${allowed} allowed`;
      }
      // All keys are full, so each place is there for another one.
      const idle = () => clock.advance((burst / rate) * 1000);
      idle();
      violation ||= leaked(table, { capacity, full: burst });
      idle();
      startMs = clock.nowMs;
      return { exact: true, violation };
    },
  };
}

/** Takes tokens of keys and accounts for each; in a crowded table it returns none. */
export function keyWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const table = attach(job.handle as LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set'>);
  const me = job.line;
  const held = new Float64Array(job.accounts);
  const step = () => {
    const account = random.below(job.accounts);
    const key = keyOf(account);
    const holds = held[account] ?? 0;
    if (job.work === 'key' && holds > 0 && (holds > HOLD || random.below(4) === 0)) {
      ledger.begin(me, account, 0, holds);
      table.returnTokens(key, holds);
      held[account] = 0;
      ledger.end(me, account, -holds, 0, holds);
      return;
    }
    const n = 1 + random.below(4);
    ledger.begin(me, account, n);
    const took =
      random.below(2) === 0 ? table.consumeOrDrain(key, n) : table.tryConsume(key, n) ? n : 0;
    held[account] = holds + took;
    ledger.end(me, account, took, n);
  };
  return { step };
}
