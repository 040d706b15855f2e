/**
 * The layout of shared memory, with a file and a diagram for each kind of cell. Only these files
 * define offsets and sizes; a test checks docs/memory-layout.md against them. layout/changes.ts,
 * layout/fleet.ts and layout/strategy.ts are not exported here, because one entry point each loads
 * them.
 *
 * The word has line 0 nearly to itself: the rest of the line is written only when the limiter is
 * created, attached with counters, or reconfigured. A record is written before the word names it
 * and is read-only from then on, so it stays in every core's cache. Each counter stripe has one
 * writing thread, so counting never moves a line between cores.
 */
export * from './layout/arrivals.ts';
export * from './layout/bucket.ts';
export * from './layout/buffers.ts';
export * from './layout/cell.ts';
export * from './layout/keyed.ts';
export * from './layout/limit-set.ts';
export { LINE_BYTES } from './layout/lines.ts';
export * from './layout/semaphore.ts';
export * from './layout/window.ts';
