/**
 * The layout of shared memory, with a file and a diagram for each kind of cell. Only these files
 * define offsets and sizes; a test checks docs/memory-layout.md against them. layout/fleet.ts is not
 * exported here, because only the entry points of fleets and hosts load it.
 *
 * The word has line 0 nearly to itself: the rest of the line is written only when the limiter is
 * created or reconfigured, its origin is renewed, or returned tokens wake callers. A record is
 * written before the word names it and is read-only from then on, so it stays in every core's cache. Each counter stripe has one
 * writing thread, so counting never moves a line between cores.
 */
export * from './layout/buffers.ts';
export * from './layout/cell.ts';
export * from './layout/keyed.ts';
export * from './layout/region.ts';
export * from './layout/sampler.ts';
export * from './layout/semaphore.ts';
export * from './layout/window.ts';
