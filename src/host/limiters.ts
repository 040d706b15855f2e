import { attach } from '../limiters/attach.ts';
import type { FixedWindow } from '../limiters/fixed-window.ts';
import type { KeyedFixedWindow } from '../limiters/keyed-fixed-window.ts';
import type { KeyedLimitSet } from '../limiters/keyed-limit-set.ts';
import type { KeyedTokenBucket } from '../limiters/keyed-token-bucket.ts';
import type { LeakyBucket } from '../limiters/leaky-bucket.ts';
import type { LimitSet } from '../limiters/limit-set.ts';
import { handleOfName, kindAt } from '../limiters/opening.ts';
import type { Semaphore } from '../limiters/semaphore.ts';
import type { SlidingLog } from '../limiters/sliding-log.ts';
import type { SlidingWindow } from '../limiters/sliding-window.ts';
import type { Sometimes } from '../limiters/sometimes.ts';
import type { TokenBucket } from '../limiters/token-bucket.ts';
import { namesIn } from '../memory/names.ts';
import type { Region } from '../memory/region.ts';
import { HostStock } from './fleet-stock.ts';

/** A named limiter in a region, or the stock of a fleet bucket. */
export type HostLimiter =
  | Placed<'token-bucket', TokenBucket>
  | Placed<'leaky-bucket', LeakyBucket>
  | Placed<'limit-set', LimitSet>
  | Placed<'fixed-window', FixedWindow>
  | Placed<'sliding-window', SlidingWindow>
  | Placed<'sliding-log', SlidingLog>
  | Placed<'keyed-token-bucket', KeyedTokenBucket>
  | Placed<'keyed-fixed-window', KeyedFixedWindow>
  | Placed<'keyed-limit-set', KeyedLimitSet>
  | Placed<'sometimes', Sometimes>
  | Placed<'semaphore', Semaphore>
  | Placed<'fleet-bucket', HostStock>;

interface Placed<Kind, Limiter> {
  /** Its name in the region. */
  readonly name: string;
  /** Its kind, as in its handle. */
  readonly kind: Kind;
  /** The limiter, to which this thread is attached. */
  readonly limiter: Limiter;
}

/** A region's limiters, by cell. Attaching twice would take a second counter stripe. */
export class HostLimiters {
  readonly #attached = new Map<number, HostLimiter>();

  list(region: Region): readonly HostLimiter[] {
    for (const named of [...namesIn(region)].reverse()) {
      if (this.#attached.has(named.cell)) continue;
      const kind = kindAt(region, named.cell);
      if (kind === undefined) continue; // a clock
      const limiter: unknown =
        kind === 'fleet-bucket'
          ? new HostStock(region, named)
          : attach(handleOfName(region, named, kind));
      // The kind determines the class.
      this.#attached.set(named.cell, { name: named.name, kind, limiter } as HostLimiter);
    }
    return [...this.#attached.values()];
  }
}
