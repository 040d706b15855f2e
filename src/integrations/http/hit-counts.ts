import type { WhenFull } from '../../kernel/constants.ts';
import { checkOptions } from '../../known-options.ts';
import { KeyedFixedWindow } from '../../limiters/keyed-fixed-window.ts';
import { checkTable } from '../../limiters/keyed-table.ts';
import { checkRegion, checkShared, clockCell } from '../../limiters/opening.ts';
import type { Region } from '../../limiters/region.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { MAX_NAME_TEXT } from '../../memory/layout.ts';
import { checkNumber, shown } from '../../options.ts';
import type { Clock } from '../../time/clock.ts';

/** Options of {@link expressRateLimitStore} and {@link fastifyRateLimitStore}. */
export interface HitStoreOptions {
  /**
   * The memory that all threads share, or all processes of a machine if it is a `HostRegion`. It
   * needs 32 bytes per client and window length.
   */
  readonly region: Region;
  /** Maximum number of clients per window length, over all threads. */
  readonly capacity: number;
  /**
   * The name of the counts in the region. Stores with the same name share counts, so give each
   * limiter of a program its own name. At most 90 bytes in UTF-8. Default `'hits'`.
   */
  readonly name?: string;
  /**
   * What to do with clients beyond `capacity`: let them `'share'` one count (the default),
   * `'refuse'` or `'admit'` them.
   */
  readonly whenFull?: WhenFull;
  /** The clock of the windows. Default: the system's monotonic clock. */
  readonly clock?: Clock;
}

/** A client's hits in the current window. */
export interface Hits {
  readonly hits: number;
  /** Milliseconds until the window ends, rounded up; 0 without hits. */
  readonly resetMs: number;
}

/** More hits than a client can send in a window. */
const MOST_HITS = 2 ** 30 - 1;
const MOST_HITS_PER_MS = 4e6;

/** Ticks are rounded: a window of 60 s must not appear to end after 60.0000001 s. */
const ROUNDING_MS = 0.001;
/** In each era, all clients have new keys. */
const MOST_ERAS = 2 ** 20;

/** The longest suffix of a name: a space and a `windowMs` such as 0.0010000000000000002. */
const LONGEST_SUFFIX = 22;
const MOST_NAME_BYTES = MAX_NAME_TEXT - LONGEST_SUFFIX;

function checkName(name: unknown): void {
  if (typeof name !== 'string') throw new TypeError(`name must be a string, got ${shown(name)}`);
  const bytes = new TextEncoder().encode(name).length;
  if (bytes <= MOST_NAME_BYTES) return;
  throw new RangeError(`name must have at most ${MOST_NAME_BYTES} bytes in UTF-8, got ${bytes}`);
}

/** Counts hits in shared memory, by client and window length. */
export class HitCounts {
  readonly name: string;
  readonly #options: HitStoreOptions;
  readonly #windows = new Map<number, HitWindow>();
  /** A bucket that never refills: the tokens taken count the calls of {@link forgetAll}. */
  readonly #resets: TokenBucket;

  /** @throws TypeError, RangeError for an invalid option; HandleError, RateLimitError for the region. */
  constructor(options: HitStoreOptions) {
    checkOptions(options, {
      region: true,
      capacity: true,
      name: true,
      whenFull: true,
      clock: true,
    });
    const { region, name = 'hits' } = options;
    checkName(name);
    // The tables are opened by requests, but misuse throws now.
    checkTable(options);
    const { clock } = checkShared(options);
    this.name = name;
    this.#options = options;
    clockCell(checkRegion(region), clock);
    this.#resets = TokenBucket.open(region, `${name} resets`, { rate: 0, burst: MOST_ERAS });
  }

  /** Returns the counts of windows of this length, which is the middleware's option `name`. */
  of(windowMs: number, name: string): HitWindow {
    const known = this.#windows.get(windowMs);
    if (known !== undefined) return known;
    checkNumber(name, windowMs, { min: 0.001, max: 1e11 });
    const { region, capacity, whenFull, clock } = this.#options;
    const most = Math.min(MOST_HITS, Math.floor(MOST_HITS_PER_MS * windowMs));
    const window = KeyedFixedWindow.open(region, `${this.name} ${windowMs}`, {
      limit: most,
      intervalMs: windowMs,
      capacity,
      ...(whenFull && { whenFull }),
      ...(clock && { clock }),
    });
    const counts = new HitWindow(window, () => MOST_ERAS - this.#resets.available());
    this.#windows.set(windowMs, counts);
    return counts;
  }

  /** Resets all counts, for all threads. */
  forgetAll(): void {
    if (!this.#resets.tryConsume()) this.#resets.returnTokens(MOST_ERAS);
  }
}

/**
 * Counts hits in a window whose limit is out of reach: one atomic step counts a hit and returns the
 * total, even above the middleware's limit.
 */
export class HitWindow {
  readonly #window: KeyedFixedWindow;
  readonly #era: () => number;

  constructor(window: KeyedFixedWindow, era: () => number) {
    this.#window = window;
    this.#era = era;
  }

  /** After {@link HitCounts.forgetAll}, all clients have new keys. */
  #key(client: string): string {
    return `${this.#era()} ${client}`;
  }

  /** Counts a hit and returns the counts, including it. */
  hit(client: string): Hits {
    const taken = this.#take(client, 1);
    // A client beyond `capacity`, admitted without a count.
    return taken.hits > 0 ? taken : { ...taken, hits: 1 };
  }

  read(client: string): Hits {
    return this.#take(client, 0);
  }

  #take(client: string, n: number): Hits {
    const { allowed, limit, remaining, resetMs } = this.#window.decide(this.#key(client), n);
    const hits = limit - remaining + (allowed ? 0 : 1);
    return { hits, resetMs: Math.ceil(Math.max(0, resetMs - ROUNDING_MS)) };
  }

  /** Removes one hit, if the client has any in this window. */
  unhit(client: string): void {
    // Keyed windows have no `returnTokens`. This is exact only if the hit was in the same window.
    const { at } = this.#window.for(this.#key(client));
    at.seek().returnTokens(at.table.clock.now(), 1);
  }

  forget(client: string): void {
    this.#window.reset(this.#key(client));
  }
}
