import { rmSync } from 'node:fs';
import { HostRegion } from '../../src/host.ts';
import type { KernelName, LimitSet, ManualClock, TokenBucket } from '../../src/index.ts';
import { KINDS, type Kind, takerOf } from '../support/kinds.ts';
import { leaked } from '../support/leaks.ts';
import { brokenFlow, brokenLog, brokenSlots } from '../support/window-promises.ts';
import { changedScene } from './changed-scene.ts';
import { BURST, RATES, reconfigure } from './job.ts';
import { crowdScene, keyScene } from './key-scenes.ts';
import { permitScene, waiterScene } from './permit-scene.ts';
import { hostPlace, ownPlace, type Place, type Round, type Scene } from './scene.ts';
import { MOST_AHEAD_MS } from './taker-work.ts';

/** A bucket that never gets full, so initial tokens, inflow and tokens taken must add up. */
function accountScene({ clock, bucket }: Place): Scene {
  const limited = bucket({ rate: RATES[0], burst: BURST, initial: 0 });
  return { ...accounts(limited, clock), name: 'bucket, to the token' };
}

function accounts(
  bucket: TokenBucket | LimitSet,
  clock: ManualClock,
  mayLapse = false,
): Omit<Scene, 'name'> {
  let expected = 0;
  return {
    work: 'account',
    accounts: 1,
    clock,
    handle: bucket.handle,
    back: true,
    moved: (ms) => {
      expected += (bucket.rate * ms) / 1000;
    },
    disturb: (draw) => {
      reconfigure(bucket, { rate: RATES[draw % RATES.length] ?? RATES[0], burst: BURST });
    },
    audit: ({ ledger }) => {
      const { least, most } = ledger.bounds(0);
      const balance = bucket.balance();
      const missing = expected - balance;
      const violation =
        missing < least || (missing > most && !mayLapse)
          ? `${missing} tokens are gone, the threads took ${least} to ${most}`
          : '';
      const left = leaked(bucket);
      expected = bucket.balance();
      return { exact: least === most, violation: violation || left };
    },
  };
}

/** Several limits, each of which holds in every interval. */
function setPromiseScene({ clock, set }: Place): Scene {
  const limits = [
    { rate: 1000, burst: 20 },
    { rate: 800, burst: 60 },
  ];
  const { handle } = set({ limits });
  return {
    name: 'limit set, each limit in every interval',
    ...{ work: 'taker', accounts: 1, clock, handle, back: true },
    ...{ moved: () => undefined, disturb: () => undefined },
    audit: ({ admitted }) => ({
      exact: true,
      violation: limits.map(({ rate, burst }) => brokenFlow(admitted, rate, burst)).join(''),
    }),
  };
}

/**
 * {@link accountScene} under three limits, which are the same at any time. Tokens lapse if they are
 * returned, or a change restarts, while others are promised: none may be minted. The clock never steps
 * back, because a change then begins at the latest charge, not before.
 */
function setScene({ clock, set }: Place): Scene {
  const limit = { rate: RATES[0], burst: BURST };
  const limits = [limit, limit, limit];
  const limited = set({ limits, initial: 0 });
  return { ...accounts(limited, clock, true), back: false, name: 'limit set, no token minted' };
}

/** Each limiter admits 100 at once, and is full again after 10 ms. A sliding window has 5 slots. */
const [LIMIT, REFILL_MS, SLOTS] = [100, 10, 5] as const;
/** Longer than any promise, or a step back of the clock. */
const IDLE_MS = 10 * REFILL_MS;

/** Any limiter: at most what it promises of any interval, and all of its limit after idling. */
function kindScene({ name, promise = 'flow', create }: Kind, place: Place): Scene {
  const { clock, home } = place;
  const limiter = create({ ...home, clock, limit: LIMIT, refillMs: REFILL_MS });
  const { handle } = limiter;
  if (handle === undefined) throw new Error(`no thread can attach to ${name}`);
  const taker = takerOf(limiter);
  const bornUs = clock.now();
  let startMs = clock.nowMs;
  const broken = ({ admitted, ledger }: Round) => {
    if (promise === 'flow') return brokenFlow(admitted, (LIMIT / REFILL_MS) * 1000, LIMIT);
    if (promise === 'windows') {
      // One window that was already open, and one for each interval since, complete or not.
      const endMs = clock.nowMs + (taker.reserve === undefined ? 0 : MOST_AHEAD_MS);
      const most = LIMIT * (Math.ceil((endMs - startMs) / REFILL_MS) + 1);
      const { least } = ledger.bounds(0);
      return least > most ? `${least} tokens from ${startMs} to ${clock.nowMs} ms` : '';
    }
    const counted = { limit: LIMIT, intervalUs: REFILL_MS * 1000, slots: SLOTS };
    const evidence = { ...counted, admissions: admitted, changes: [], deaths: 0 };
    return promise === 'log' ? brokenLog(evidence) : brokenSlots(evidence, bornUs);
  };
  return {
    ...{ name, work: 'taker', accounts: 1, clock, handle, back: promise === 'flow' },
    ...{ moved: () => undefined, disturb: () => undefined },
    audit: (round) => {
      let violation = broken(round);
      clock.advance(IDLE_MS);
      const all = taker.consumeOrDrain?.(2 * LIMIT);
      const more = taker.consumeOrDrain?.(1);
      if (all !== LIMIT || more !== 0) violation ||= `${all} and ${more} tokens after idling`;
      violation ||= leaked(limiter);
      clock.advance(IDLE_MS);
      startMs = clock.nowMs;
      return { exact: true, violation };
    },
  };
}

/** Those to which threads attach. */
export const SHARED = KINDS.filter(({ name }) => name !== 'allOf');

/** The scenes that threads and processes play. */
const LIMITED: readonly ((place: Place) => Scene)[] = [
  accountScene,
  setScene,
  setPromiseScene,
  (place) => keyScene(place),
  (place) => crowdScene(place),
  (place) => keyScene(place, false),
  (place) => crowdScene(place, false),
];

/** One scene of each kind, each with its own memory and clock. */
export function allScenes(kernel: KernelName): Scene[] {
  return [
    ...LIMITED.map((scene) => scene(ownPlace(kernel))),
    ...SHARED.map((kind) => kindScene(kind, ownPlace(kernel))),
    permitScene(kernel),
    permitScene(kernel, true),
    waiterScene(kernel),
    changedScene(kernel, 'LimitSet'),
    changedScene(kernel, 'key of a KeyedLimitSet'),
  ];
}

const REGION_BYTES = 2 * 1_048_576;
const TALLY_BYTES = 524_288;

/** The scenes that processes play, and the end of their region. */
export interface HostScenes {
  readonly scenes: readonly Scene[];
  close(): void;
}

/** Limiters in one region in a file, which processes map. */
export function hostScenes(kinds: readonly Kind[]): HostScenes {
  const path = `zerotime-soak-${process.pid}`;
  const region = HostRegion.open({ path, bytes: REGION_BYTES });
  const tally = HostRegion.open({ path: `${path}-tally`, bytes: TALLY_BYTES });
  const all = [...LIMITED, ...kinds.map((kind) => (place: Place) => kindScene(kind, place))];
  const scenes = all.map((make, i): Scene => {
    const scene = make(hostPlace(region, `limiter ${i}`));
    return { ...scene, name: `${scene.name}, in processes`, tally };
  });
  const close = () => {
    for (const each of [region, tally]) {
      each.close();
      rmSync(each.path);
    }
  };
  return { scenes, close };
}
