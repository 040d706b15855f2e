import type { Bucket } from '../../src/index.ts';
import { CLAIM_BITS, CLAIM_COUNT_SHIFT, TAG_BITS } from '../../src/kernel/constants.ts';
import { takeOverClaims } from '../../src/kernel/records.ts';
import type { LimiterHandle } from '../../src/memory/handle.ts';
import {
  BUCKET,
  ENTRY,
  freeListAt,
  freePlaces,
  KEYED,
  setSlotCount,
} from '../../src/memory/layout.ts';
import type { Region } from '../../src/memory/region.ts';

/**
 * Claims configuration records, one for each bit, as threads do that are terminated. `at`: the byte
 * offset of a cell's claims.
 */
export function claimRecords(buffer: ArrayBufferLike, at: number, bits: number): void {
  const claims = new BigInt64Array(buffer, at, 1);
  claims[0] = ((claims[0] ?? 0n) & ~CLAIMED) | BigInt(bits);
}

const CLAIMED = 2n ** BigInt(CLAIM_BITS) - 1n;

/** The claimed records, one bit for each. */
export function claimedAt(buffer: ArrayBufferLike, at: number): number {
  return Number((new BigInt64Array(buffer, at, 1)[0] ?? 0n) & CLAIMED);
}

/** Takes over the claims at a byte offset, as if a second had passed. */
export function takeOver(buffer: ArrayBufferLike, at: number): void {
  const words = new BigInt64Array(buffer);
  takeOverClaims(words, at >> 3, words[at >> 3] ?? 0n);
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

  /** The claimed configuration records, one bit for each. */
  get claims(): number {
    return claimedAt(this.#buffer, this.#at + BUCKET.claims);
  }

  set claims(bits: number) {
    claimRecords(this.#buffer, this.#at + BUCKET.claims, bits);
  }

  takeOverClaims(): void {
    takeOver(this.#buffer, this.#at + BUCKET.claims);
  }

  /** Releases the records, and claims the same ones again. */
  claimAnew(): void {
    const claims = new BigInt64Array(this.#buffer, this.#at + BUCKET.claims, 1);
    claims[0] = (claims[0] ?? 0n) + (1n << BigInt(CLAIM_COUNT_SHIFT));
  }
}

/** The slots of a limit set, with keys or without: in its free list, and named by its entries. */
export function slotsOf(
  { i32, i64 }: Pick<Region, 'i32' | 'i64'>,
  { handle: { offset } }: { readonly handle: Pick<LimiterHandle, 'offset'> },
): { readonly free: readonly number[]; readonly named: readonly number[] } {
  const field = (at: number) => i32[(offset + at) >> 2] ?? 0;
  const entries = field(KEYED.entries);
  const list = (offset + freeListAt(entries, field(KEYED.limitCount))) >> 3;
  const places = [...i64.slice(list, list + freePlaces(entries))];
  const bits = BigInt(32 - Math.clz32(setSlotCount(entries) - 1));
  const named = Array.from({ length: entries + 1 }, (_, i) => {
    const state = i64[((offset + KEYED.table) >> 3) + ENTRY.step * i + ENTRY.state] ?? 0n;
    return state === 0n ? i : Number((state >> BigInt(TAG_BITS)) & ((1n << bits) - 1n));
  });
  const free = places.map((place) => Number(BigInt.asUintN(32, place)) - 1);
  return { free: free.filter((slot) => slot >= 0), named };
}
