import type { ListenOptions } from 'node:net';
import type { RegionHandle } from '../../src/index.ts';

// What the threads of `http-threads.ts` and their tests agree on.

/** The middleware that a thread serves with. */
export type Middleware = 'express-rate-limit' | '@fastify/rate-limit';

/** How a thread serves. */
export interface Serving {
  readonly middleware: Middleware;
  readonly region: RegionHandle;
  readonly listen: ListenOptions;
}

/** The window, by a clock that the test moves. */
export const WINDOW_MS = 60_000;
export const LIMIT = 5;
/** Requests beyond the limit that fastify answers with 429; further ones get 403. */
export const BAN = 2;
