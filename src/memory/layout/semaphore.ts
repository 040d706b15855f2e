/**
 * The cell of a semaphore. A waiter holds one permit or one queued caller:
 *
 *     line 0     │ ... │ permits i64 │ waiters i32 │ maxPermits i32 │ holdMs f64 │ originUs f64 │ adapts i32 │
 *     line 1     │ head i32 │ tail i32 │ - │
 *     owner      │ thread i32 │ event i32 │                         256 of them, from line 2 on
 *     waiter     │ waiter i64 │ due i64 │
 *     place      │ entry i64 │                        the ring of the queue, an entry for each waiter
 *
 * An adaptive semaphore has three more lines at the end, the window of its latencies:
 *
 *     line 0     │ head i64 │ total i64 │ dropped i32 │ mostInFlight i32 │ droppedEver i64 │
 *                │ range i64 │ further i64 │ - │
 *     line 1, 2  │ number i64 │ least i64 │ heldNumber i64 │ heldLatency i64 │ left i64 │
 *                │ phase i64 │ needed i64 │ span i64 │ latency i64 │ busy i64 │ scatter i64 │
 *
 *     word       │ epoch: 31 bits │ available: 17 bits │ waiter: 13 bits │ queued: 1 bit │ change: 2 bits │
 *     permits    │ epoch: 31 bits │ permits: 17 bits │ waiter: 13 bits │ 0: 3 bits │
 *     waiter     │ epoch: 31 bits │ n: 17 bits │ owner: 8 bits │ 0: 5 bits │ state: 3 bits │
 *     due        │ epoch, low bits: 20 │ due, 1/16 ms since originUs: 44 bits │
 *     entry      │ epoch: 31 bits │ ticket, low bits: 20 │ waiter: 13 bits │
 *     head       │ epoch: 20 bits │ opened, us since originUs: 44 bits │
 *     total      │ calls: 20 bits │ latencies, 1/4 us: 44 bits │
 *     range      │ max: 32 bits │ min: 32 bits │
 *     state      │ 0: 12 bits │ epoch: 20 bits │ value: 32 bits │
 */
import { CELL_HEADER_BYTES, LINE_BYTES, wholeLines } from './cell.ts';

/** Byte offsets in a semaphore's cell. */
export const SEMAPHORE = {
  permits: 24,
  waiters: 32,
  maxPermits: 36,
  holdMs: 40,
  originUs: 48,
  adapts: 56,
  head: CELL_HEADER_BYTES,
  tail: CELL_HEADER_BYTES + 4,
  owners: CELL_HEADER_BYTES + LINE_BYTES,
} as const;
/** The owners that a waiter can name. Further threads share owner 0. */
export const OWNER_COUNT = 256;
/** Byte offsets in an owner's entry. */
export const OWNER = { thread: 0, event: 4 } as const;
export const OWNER_BYTES = 8;
/** Byte offset of a semaphore's waiters; the ring of its queue follows them. */
export const WAITERS_AT = SEMAPHORE.owners + OWNER_COUNT * OWNER_BYTES;
/** Byte offsets in a waiter. */
export const WAITER = { waiter: 0, due: 8 } as const;
export const WAITER_BYTES = 16;
/** The most waiters of a semaphore: a power of two. */
export const MAX_WAITERS = 8192;

/** Byte offsets in the window of an adaptive semaphore. */
export const ADAPT = {
  head: 0,
  total: 8,
  dropped: 16,
  mostInFlight: 20,
  droppedEver: 24,
  range: 32,
  further: 40,
  state: LINE_BYTES,
} as const;
/** Byte offsets in its state, from the second line on. */
export const ADAPT_STATE = {
  number: 0,
  least: 8,
  heldNumber: 16,
  heldLatency: 24,
  left: 32,
  phase: 40,
  needed: 48,
  span: 56,
  latency: 64,
  busy: 72,
  scatter: 80,
} as const;
export const ADAPT_BYTES = 3 * LINE_BYTES;

/** Byte offset of the window of an adaptive semaphore, after the queue's ring. */
export function adaptAt(waiters: number): number {
  return wholeLines(WAITERS_AT + waiters * (WAITER_BYTES + 8));
}

/**
 * Size of a semaphore's cell without counters: 2,176 bytes plus 24 for each waiter, and 192 for an
 * adaptive one.
 */
export function semaphoreBytes(waiters: number, adapts: boolean): number {
  return adaptAt(waiters) + (adapts ? ADAPT_BYTES : 0);
}
