import {
  type KernelName,
  type LimiterHandle,
  ManualClock,
  Region,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { type KindUnderTest, WINDOW_KINDS, type WindowKind } from '../support/window-kinds.ts';
import { brokenLog, brokenSlots } from '../support/window-promises.ts';
import { type Admitted, BURST, keyOf, RATES, type SoakJob } from './job.ts';
import type { Ledger } from './ledger.ts';
import { overdrawn } from './overdrawn.ts';

/** What an audit found. */
export interface Audit {
  /** Whether the totals were known to the token; a killed thread or an aborted wait leaves a doubt. */
  readonly exact: boolean;
  /** What is wrong; empty if nothing. */
  readonly violation: string;
}

/** How far a round went. */
interface Round {
  readonly ledger: Ledger;
  readonly admitted: readonly Admitted[];
}

/** One limiter under the soak, kept over all rounds, and what it must keep to. */
export interface Scene {
  readonly name: string;
  readonly work: SoakJob['work'];
  readonly accounts: number;
  readonly clock: ManualClock;
  readonly handle: LimiterHandle;
  /** Whether the clock may step back. */
  readonly back: boolean;
  /** While the threads work: the clock has moved by so much. */
  readonly moved: (ms: number) => void;
  /** Once in a while, from the main thread, while the others work. */
  readonly disturb: (draw: number) => void;
  /** After a round, when all threads rest. */
  readonly audit: (round: Round) => Audit;
}

/** Each scene has its own, so that one that steps back disturbs no other. */
function newClock(): ManualClock {
  return ManualClock.create({ nowMs: 1000 });
}

/** A bucket that never gets full: what was there, what came in and what went add up. */
function accountScene(kernel: KernelName): Scene {
  const clock = newClock();
  const bucket = TokenBucket.create({ rate: RATES[0], burst: BURST, initial: 0, clock, kernel });
  let expected = 0;
  return {
    name: 'bucket, to the token',
    work: 'account',
    accounts: 1,
    clock,
    handle: bucket.handle,
    back: true,
    moved: (ms) => {
      expected += (bucket.rate * ms) / 1000;
    },
    disturb: (draw) => {
      bucket.reconfigure({ rate: RATES[draw % RATES.length] ?? RATES[0], burst: BURST });
    },
    audit: ({ ledger }) => {
      const { least, most } = ledger.bounds(0);
      const balance = bucket.balance();
      const missing = expected - balance;
      const violation =
        missing < least || missing > most
          ? `${missing} tokens are gone, the threads took ${least} to ${most}`
          : '';
      expected = balance;
      return { exact: least === most, violation };
    },
  };
}

/** A small bucket: in no interval more than burst + rate x t. */
function promiseScene(kernel: KernelName): Scene {
  const clock = newClock();
  const limit = { rate: 1000, burst: 20 };
  const bucket = TokenBucket.create({ ...limit, clock, kernel });
  return {
    name: 'bucket, in every interval',
    work: 'promise',
    accounts: 1,
    clock,
    handle: bucket.handle,
    back: true,
    moved: () => undefined,
    disturb: () => undefined,
    audit: ({ admitted }) => ({ exact: true, violation: overdrawn(admitted, limit) }),
  };
}

const WINDOW = { limit: 100, intervalMs: 10, slots: 5 };

/** Windows and logs: no more than the limit where it counts, and all of it after an idle interval. */
function windowScene(kind: WindowKind, kernel: KernelName): Scene {
  const clock = newClock();
  const { limit, intervalMs, slots } = WINDOW;
  const { create } = WINDOW_KINDS.find((one) => one.kind === kind) as KindUnderTest; // all are there
  const limiter = create({ ...WINDOW, clock, kernel });
  const bornUs = clock.now();
  let startMs = clock.nowMs;
  const broken = ({ admitted, ledger }: Round) => {
    if (kind === 'fixed-window') {
      // One that was open before, and one for each interval since, begun or whole.
      const most = limit * (Math.ceil((clock.nowMs - startMs) / intervalMs) + 1);
      const { least } = ledger.bounds(0);
      return least > most ? `${least} tokens from ${startMs} to ${clock.nowMs} ms` : '';
    }
    const counted = { limit, intervalUs: intervalMs * 1000, slots, admissions: admitted };
    const evidence = { ...counted, changes: [], deaths: 0 };
    return kind === 'sliding-log' ? brokenLog(evidence) : brokenSlots(evidence, bornUs);
  };
  return {
    name: kind,
    work: 'window',
    accounts: 1,
    clock,
    handle: limiter.handle,
    back: false,
    moved: () => undefined,
    disturb: () => undefined,
    audit: (round) => {
      let violation = broken(round);
      clock.advance(2 * intervalMs);
      const all = limiter.consumeOrDrain(2 * limit);
      const more = limiter.consumeOrDrain(1);
      if (all !== limit || more !== 0) violation ||= `${all} and ${more} tokens after idling`;
      clock.advance(2 * intervalMs);
      startMs = clock.nowMs;
      return { exact: true, violation };
    },
  };
}

/** A table with room for every key: each key's total is exact. */
function keyScene(kernel: KernelName): Scene {
  const clock = newClock();
  const accounts = 24;
  const rate = 1000;
  const options = { rate, burst: BURST, capacity: 64, whenFull: 'refuse', clock, kernel } as const;
  const table = KeyedTokenBucket.create({ ...options, region: Region.create() });
  const keys = Array.from({ length: accounts }, (_, account) => keyOf(account));
  // Half full, so that none gets full, and all have an entry for good.
  for (const key of keys) table.consumeOrDrain(key, BURST / 2);
  const expected = keys.map((key) => table.balance(key));
  return {
    name: 'keys, to the token',
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

/** Ten times as many keys as there is room for: no key gets more than burst + rate x t. */
function crowdScene(kernel: KernelName): Scene {
  const clock = newClock();
  const accounts = 160;
  const [rate, burst] = [100, 5];
  const options = { rate, burst, capacity: 16, whenFull: 'refuse', clock, kernel } as const;
  const table = KeyedTokenBucket.create(options);
  let startMs = clock.nowMs;
  return {
    name: 'keys in a crowded table',
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
      clock.advance((burst / rate) * 1000);
      startMs = clock.nowMs;
      return { exact: true, violation };
    },
  };
}

/** One of each, with memory and a clock of its own. */
export function allScenes(kernel: KernelName): Scene[] {
  return [
    accountScene(kernel),
    promiseScene(kernel),
    keyScene(kernel),
    crowdScene(kernel),
    ...WINDOW_KINDS.map(({ kind }) => windowScene(kind, kernel)),
  ];
}
