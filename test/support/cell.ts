import type { Bucket } from '../../src/index.ts';
import { NO_HOLDER, SOLE_HOLDER, TAG_BITS } from '../../src/kernel/constants.ts';
import type { LimiterHandle } from '../../src/memory/handle.ts';
import {
  BUCKET,
  ENTRY,
  KEYED,
  keyedRackAt,
  keyedSlotCount,
  RACK_PLACES,
  RECORD_COUNT,
} from '../../src/memory/layout.ts';
import type { Region } from '../../src/memory/region.ts';

interface Placed {
  readonly handle: LimiterHandle;
}

/**
 * Claims configuration records, one for each bit, as threads do that are terminated. `at`: the byte
 * offset of a cell's claims.
 */
export function claimRecords(
  buffer: ArrayBufferLike,
  at: number,
  bits: number,
  holder: number = SOLE_HOLDER,
): void {
  const claims = new Uint8Array(buffer, at, RECORD_COUNT);
  for (let i = 0; i < RECORD_COUNT; i++) claims[i] = bits & (1 << i) ? holder : NO_HOLDER;
}

/** The words of a bucket's cell, for tests that inspect them. */
export class Cell {
  readonly #i32: Int32Array;
  readonly #at: number;
  readonly #buffer: ArrayBufferLike;

  constructor(bucket: Pick<Bucket<'token-bucket'>, 'handle'>) {
    const { memory, offset } = bucket.handle;
    this.#buffer = 'buffer' in memory ? memory.buffer : memory;
    this.#i32 = new Int32Array(this.#buffer);
    this.#at = offset;
  }

  /** The number of configuration records ever begun. */
  get sequence(): number {
    return this.#i32[(this.#at + BUCKET.sequence) >> 2] ?? 0;
  }

  /** One bit for each configuration record that a thread has claimed. */
  get claims(): number {
    const claims = new Uint8Array(this.#buffer, this.#at + BUCKET.claims, RECORD_COUNT);
    return claims.reduce((bits, holder, i) => bits + (holder === NO_HOLDER ? 0 : 1 << i), 0);
  }

  set claims(bits: number) {
    claimRecords(this.#buffer, this.#at + BUCKET.claims, bits);
  }
}

/** The holders of the records of a limiter that are claimed, except for a semaphore's or Sometimes'. */
export function claimsOf({ buffer }: Region, { handle }: Placed): number[] {
  const isTable = handle.zerotime.startsWith('keyed-');
  const at = isTable ? [BUCKET.claims, KEYED.claims] : [BUCKET.claims];
  const claims = at.flatMap((each) => [
    ...new Uint8Array(buffer, handle.offset + each, RECORD_COUNT),
  ]);
  return claims.filter((holder) => holder !== NO_HOLDER);
}

/** The slots of a table whose keys have several limits: in its rack, and named by its entries. */
export function keyedSlotsOf(
  { i32, i64 }: Region,
  { handle: { offset } }: Placed,
): { readonly free: readonly number[]; readonly named: readonly number[] } {
  const field = (at: number) => i32[(offset + at) >> 2] ?? 0;
  const entries = field(KEYED.entries);
  const rack = (offset + keyedRackAt(entries, field(KEYED.limitsPerKey))) >> 3;
  const places = [...i64.slice(rack, rack + RACK_PLACES)];
  const bits = BigInt(32 - Math.clz32(keyedSlotCount(entries) - 1));
  const named = Array.from({ length: entries + 1 }, (_, i) => {
    const state = i64[((offset + KEYED.table) >> 3) + ENTRY.step * i + ENTRY.state] ?? 0n;
    return state === 0n ? i : Number((state >> BigInt(TAG_BITS)) & ((1n << bits) - 1n));
  });
  const free = places.map((place) => Number(BigInt.asUintN(32, place)) - 1);
  return { free: free.filter((slot) => slot >= 0), named };
}
