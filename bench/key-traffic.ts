import { BURST } from './loads.ts';

/** The keys that threads ask for. */
export interface KeyTraffic {
  readonly name: string;
  readonly kind: 'kept' | 'fresh' | 'new' | 'churn' | 'flood';
  /** Tokens per second and key: after a call for one, a bucket is full again after 1 / rate seconds. */
  readonly rate: number;
}

/** None is full again during a run. */
const SLOW = 1e-2;
/** Full again after 10 ms, so that its entry can be reused. */
const QUICK = 100;

export const KEPT: KeyTraffic = { name: 'hits, strings kept', kind: 'kept', rate: SLOW };
export const FRESH: KeyTraffic = { name: 'hits, strings made anew', kind: 'fresh', rate: SLOW };
export const TRAFFICS: readonly KeyTraffic[] = [
  KEPT,
  FRESH,
  { name: 'new keys', kind: 'new', rate: QUICK },
  { name: 'churn', kind: 'churn', rate: QUICK },
  { name: 'flood', kind: 'flood', rate: SLOW },
];

/** One thread's part in it. */
export interface KeyTask {
  readonly traffic: KeyTraffic;
  /** The keys that are asked for again and again. */
  readonly keys: number;
  readonly thread: number;
}

/** The tokens of a full bucket: more than a key can take during a measurement. */
export const KEY_BURST = BURST;

const DIGITS = 15;

/** The numbers from 0 to `count` - 1 in an order without pattern, the same for each thread's number. */
function shuffled(count: number, thread: number): number[] {
  const numbers = Array.from({ length: count }, (_, i) => i);
  let state = thread + 1;
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [numbers[i], numbers[other]] = [numbers[other] as number, numbers[i] as number];
  }
  return numbers;
}

/** Repeats a list for ever. */
function repeated<T>(list: readonly T[]): () => T {
  let next = 0;
  return () => {
    const item = list[next] as T;
    next = next + 1 === list.length ? 0 : next + 1;
    return item;
  };
}

/**
 * The keys of a thread, of 20 characters, as programs make them: by concatenation, in random order.
 * `known` keys should have a bucket when the measurement starts.
 */
export function keysOfTask({ traffic, keys, thread }: KeyTask): {
  readonly known: readonly string[];
  readonly next: () => string;
} {
  const ids = shuffled(keys, thread).map((id) => String(id).padStart(DIGITS, '0'));
  const id = repeated(ids);
  let made = 0;
  const hit = () => `user-${id()}`;
  const unseen = () => `new${thread}-${String(made++).padStart(DIGITS, '0')}`;
  const either = repeated([hit, unseen]);
  const kept = ids.map((one) => `user-${one}`);
  switch (traffic.kind) {
    case 'kept':
      return { known: kept, next: repeated(kept) };
    case 'fresh':
      return { known: kept, next: hit };
    case 'churn':
      return { known: [], next: () => either()() };
    default:
      return { known: [], next: unseen };
  }
}
