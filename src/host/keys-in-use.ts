import {
  AT_FIRST_HOME,
  LIVE,
  TAG_BITS,
  TAG_MASK,
  TIER_MASK,
  VERSION_BITS,
} from '../kernel/constants.ts';
import { type Key, KeyHash } from '../kernel/keyed/hash.ts';
import { openKeyed } from '../kernel/keyed/host.ts';
import type { KeyedKernel } from '../kernel/keyed/table-host.ts';
import { openKeyedLimitSet } from '../kernel/limit-set/host.ts';
import { cellOf } from '../limiters/terms.ts';
import type { CellPlace } from '../memory/cell.ts';
import { ENTRY, ENTRY_BYTES, KEYED } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { type HostLimiter, misfit } from './limiters.ts';

// The keys of a table, by what the table keeps of them: 44 bits of a hash, of which no name can be
// computed. An entry is read by a call for a key with that hash. The entry's place tells the bits that
// are missing, except for which of several homes the key has: any from which the entry is found will do.

/** The bits of the hash's low half that an identity has. */
const LOW_BITS = 12;
const LOWS = 1 << LOW_BITS;
const HALF = 2 ** 32;

/** The state of a key in a table. */
export interface KeyInUse {
  /** What the table keeps of the key's hash, in 11 hexadecimal digits. */
  readonly hash: string;
  /** The name of its tier, if it has one. */
  readonly tier: string | undefined;
  /** Negative in debt, and while the key is blocked. */
  readonly tokens: number;
  readonly burst: number;
  /** Milliseconds until it can take a token. */
  readonly retryMs: number;
}

/** The keys that lack tokens. */
export interface KeysInUse {
  /** Those that must wait longest first, then those with the fewest tokens. */
  readonly keys: readonly KeyInUse[];
  /** The number of entries that could not be read, in tables for more than 500,000 keys. */
  readonly unread: number;
}

function hashText(high: number, low: number): string {
  return (
    (high >>> 0).toString(16).padStart(8, '0') + (low & (LOWS - 1)).toString(16).padStart(3, '0')
  );
}

/** A table whose entries are read one by one. */
class Entries {
  readonly #place: CellPlace;
  readonly count: number;

  constructor(place: CellPlace) {
    this.#place = place;
    this.count = place.region.i32[(place.offset + KEYED.entries) >> 2] ?? 0;
  }

  #word(entry: number, field: number): bigint {
    const start = (this.#place.offset + KEYED.table + entry * ENTRY_BYTES) >> 3;
    return Atomics.load(this.#place.region.i64, start + field);
  }

  /** The hash and the state of an entry; undefined if no key has it. */
  at(
    entry: number,
  ): { readonly high: number; readonly low: number; readonly state: number } | undefined {
    const state = this.#word(entry, ENTRY.state);
    if ((Number(state & BigInt(TAG_MASK)) & LIVE) === 0) return undefined;
    // 44 bits, which a number holds exactly.
    const hash = BigInt.asUintN(64, this.#word(entry, ENTRY.identity)) >> BigInt(VERSION_BITS);
    const low = Number(hash) % LOWS;
    return { high: Math.floor(Number(hash) / LOWS), low, state: Number(BigInt.asUintN(32, state)) };
  }

  /** A low half of the hash with which a search finds an entry; undefined if there is none. */
  lowFor(entry: number, bits: number): number | undefined {
    const { count } = this;
    for (let back = 0; back < Math.min(AT_FIRST_HOME, count); back++) {
      const home = (entry - back + count) % count;
      // A search ends at an entry that was never used.
      if (back > 0 && this.#isUnused(home)) return undefined;
      const first = Math.ceil((home * HALF) / count);
      const low = first + ((((bits - first) % LOWS) + LOWS) % LOWS);
      if (low < HALF && Math.floor((low * count) / HALF) === home) return low;
    }
    return undefined;
  }

  #isUnused(entry: number): boolean {
    return this.#word(entry, ENTRY.identity) === 0n && this.#word(entry, ENTRY.state) === 0n;
  }
}

type KeyedLimiter = Extract<HostLimiter, { readonly kind: `keyed-${string}` }>;

/** @throws TypeError if the limiter has no keys. */
function checkKeyed(one: HostLimiter): KeyedLimiter {
  if (one.kind.startsWith('keyed')) return one as KeyedLimiter; // by its name
  throw misfit(one, 'which has no keys');
}

function placeOf(region: Region, { limiter: { handle } }: KeyedLimiter): CellPlace {
  return cellOf(region, handle).place;
}

/**
 * The keys of a table that lack tokens. Reads the whole table.
 *
 * @throws TypeError if the limiter has no keys; HandleError `ERR_REGION_DAMAGED`.
 */
export function keysInUse(region: Region, one: HostLimiter): KeysInUse {
  const table = checkKeyed(one);
  const place = placeOf(region, table);
  const { clock } = table.limiter;
  const open = table.kind === 'keyed-limit-set' ? openKeyedLimitSet : openKeyed;
  const kernel: KeyedKernel = open(place, () => clock.now(), undefined);
  const entries = new Entries(place);
  const read = readerOf(kernel, clock.now());
  const keys: KeyInUse[] = [];
  let unread = 0;
  for (let entry = 0; entry < entries.count; entry++) {
    const found = entries.at(entry);
    if (found === undefined) continue;
    const low = entries.lowFor(entry, found.low);
    const key = low === undefined ? undefined : read(found.high, low, found.state);
    if (key === undefined) unread++;
    else if (key.tokens < key.burst) keys.push(key);
  }
  keys.sort((key, other) => other.retryMs - key.retryMs || key.tokens - other.tokens);
  return { keys, unread };
}

/** Reads the keys of a table as of an instant. */
function readerOf(kernel: KeyedKernel, nowUs: number) {
  const { tiers } = kernel;
  const bursts = kernel.schedules().map(({ burst }) => burst);
  return (high: number, low: number, state: number): KeyInUse => {
    const tier = tiers.length > 0 ? (state >> TAG_BITS) & TIER_MASK : 0;
    // Several limits of a set hold together; that of a tier holds alone.
    const burst = tiers.length > 0 ? (bursts[tier] ?? 0) : Math.min(...bursts);
    kernel.seek(high | 0, low | 0, tier);
    return {
      hash: hashText(high, low),
      tier: tiers[tier - 1],
      tokens: kernel.balance(nowUs),
      burst,
      retryMs: kernel.timeUntil(nowUs, Math.min(1, burst)) / 1000,
    };
  };
}

/**
 * What a table keeps of a key's hash.
 *
 * @throws TypeError if the limiter has no keys.
 */
export function hashOf(region: Region, one: HostLimiter, key: Key): string {
  const hash = new KeyHash(placeOf(region, checkKeyed(one)));
  hash.read(key);
  return hashText(hash.high, hash.low);
}
