import type {
  ContinuousLimit,
  KernelName,
  LimitSet,
  ManualClock,
  TokenBucket,
} from '../../src/index.ts';
import { mostBeyond } from '../oracle/bound.ts';
import { type KindUnderTest, WINDOW_KINDS, type WindowKind } from '../support/window-kinds.ts';
import { brokenLog, brokenSlots } from '../support/window-promises.ts';
import { BURST, RATES, reconfigure } from './job.ts';
import { crowdScene, keyScene } from './key-scenes.ts';
import { permitScene, seatScene } from './permit-scene.ts';
import { ownPlace, type Place } from './place.ts';
import { newClock, type Round, type Scene } from './scene.ts';

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
      expected = balance;
      return { exact: least === most, violation };
    },
  };
}

/** A small bucket: at most burst + rate x t in any interval. */
function promiseScene({ clock, bucket }: Place): Scene {
  const limit = { rate: 1000, burst: 20 };
  const { handle } = bucket(limit);
  return promises([limit], { name: 'bucket, in every interval', clock, handle });
}

/** The most that rounding the clock to ticks can add. */
const ROUNDING = 1e-3;

/** Every limit holds in every interval. */
function promises(
  limits: readonly ContinuousLimit[],
  of: Pick<Scene, 'name' | 'clock' | 'handle'>,
): Scene {
  return {
    ...of,
    work: 'promise',
    accounts: 1,
    back: true,
    moved: () => undefined,
    disturb: () => undefined,
    audit: ({ admitted }) => ({
      exact: true,
      violation: limits
        .map(({ rate, burst }) => {
          const { beyond, text } = mostBeyond(admitted, [{ atUs: 0, rate }]);
          return beyond > burst + ROUNDING ? text : '';
        })
        .join(''),
    }),
  };
}

/** Several limits, each of which holds in every interval. */
function setPromiseScene({ clock, set }: Place): Scene {
  const limits = [
    { rate: 1000, burst: 20 },
    { rate: 800, burst: 60 },
  ];
  const { handle } = set({ limits });
  return promises(limits, { name: 'limit set, in every interval', clock, handle });
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

const WINDOW = { limit: 100, intervalMs: 10, slots: 5 };

/**
 * Windows and logs: at most the limit in the intervals they promise, and all of it after idling.
 */
function windowScene(kind: WindowKind, kernel: KernelName): Scene {
  const clock = newClock();
  const { limit, intervalMs, slots } = WINDOW;
  const { create } = WINDOW_KINDS.find((one) => one.kind === kind) as KindUnderTest; // all are there
  const limiter = create({ ...WINDOW, clock, kernel });
  const bornUs = clock.now();
  let startMs = clock.nowMs;
  const broken = ({ admitted, ledger }: Round) => {
    if (kind === 'fixed-window') {
      // One window that was already open, and one for each interval since, complete or not.
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

/** The scenes that threads and processes play. */
export const LIMITED: readonly ((place: Place) => Scene)[] = [
  accountScene,
  setScene,
  promiseScene,
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
    permitScene(kernel),
    permitScene(kernel, true),
    seatScene(kernel),
    ...WINDOW_KINDS.map(({ kind }) => windowScene(kind, kernel)),
  ];
}
