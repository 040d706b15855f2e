import { changesOf } from '../kernel/bucket/cell.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import { WHEN_FULL, type WhenFull } from '../kernel/constants.ts';
import {
  BYTES_PER_KEY,
  createKeyedCell,
  type NameOf,
  type NewTable,
  tableLimits,
} from '../kernel/keyed/cell.ts';
import { type Key, KeyHash } from '../kernel/keyed/hash.ts';
import { each, type Limits, MAX_CAPACITY } from '../kernel/keyed/table-cell.ts';
import type { Change, KeyedKernel } from '../kernel/keyed/table-host.ts';
import { checkOptions, type Known } from '../known-options.ts';
import { type CellPlace, identityOf } from '../memory/cell.ts';
import type { SharedEvent } from '../memory/event.ts';
import type { KernelName } from '../memory/handle.ts';
import { type CellKind, MAX_KEYED_LIMITS } from '../memory/layout.ts';
import { checkChoice, checkNumber, checkObject, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { prefixed } from './limit.ts';
import { checkShared, type OpenLimiter, type SharedOptions } from './opening.ts';
import type { RefusedMessage } from './refused.ts';
import { announce } from './waiting.ts';

/** Selects the limit of a call on one key. */
export interface TierOptions {
  /** The name of a tier of the table. Default: the table's own limit. */
  readonly tier?: string;
}

/** Options of each call to a limiter that has no tiers. */
export interface WithoutTiers {
  /** No tier can be chosen. */
  readonly tier?: never;
}

const OPTIONS: Known<TierOptions> = { tier: true };
const MOST_TIERS = MAX_KEYED_LIMITS - 1;
const LONGEST_NAME = 64;

/** The tiers of a table by name. */
export class Tiers {
  readonly names: readonly string[];
  /** Limit 0 is the table's own. */
  readonly #limits = new Map<string | undefined, number>([[undefined, 0]]);

  constructor(names: readonly string[]) {
    this.names = names;
    for (const [i, name] of names.entries()) this.#limits.set(name, i + 1);
  }

  /** The limit of a call with these options. */
  limitOf(options: TierOptions): number {
    const { tier } = checkOptions(options, OPTIONS);
    const limit = this.#limits.get(tier);
    if (limit !== undefined) return limit;
    const wanted = this.#wanted('one of');
    if (typeof tier !== 'string') throw new TypeError(`tier must be ${wanted}, got ${shown(tier)}`);
    throw new RangeError(`tier must be ${wanted}, got ${shown(tier)}`);
  }

  #wanted(some: string): string {
    const { names } = this;
    return names.length === 0 ? 'omitted: there are no tiers' : `${some} ${names.join(', ')}`;
  }

  /** Prefixes errors with the name of their limit. */
  readonly at: NameOf = (i, make) =>
    i === 0 ? make() : prefixed(`tiers.${this.names[i - 1]}`, make);

  /** What is given for each limit, the table's own first. `known` are the options of one. */
  inOrder<T extends object>(own: Tiered<T>, known: Known<T>): Limits<Partial<T>> {
    const { tiers } = own;
    const given = Object.entries(tiers === undefined ? {} : checkObject('tiers', tiers));
    for (const [name] of given) {
      if (!this.names.includes(name)) {
        throw new RangeError(`tiers must be ${this.#wanted('among')}, got ${shown(name)}`);
      }
    }
    const byName = new Map(given);
    const values = this.names.map((name) => {
      const value = byName.get(name);
      return value === undefined ? {} : checkOptions(value, known, `tiers.${name}`);
    });
    return [own, ...values];
  }
}

/** A limit, and those of tiers by name. */
type Tiered<T> = Partial<T> & {
  readonly tiers?: Readonly<Record<string, Partial<T>>>;
};

/** Checks the names of a new table's tiers. */
function checkTiers(tiers: object | undefined): Tiers {
  if (tiers === undefined) return new Tiers([]);
  const names = Object.keys(checkObject('tiers', tiers));
  if (Array.isArray(tiers) || names.length < 1 || names.length > MOST_TIERS) {
    throw new TypeError(`tiers must be an object of 1 to ${MOST_TIERS} limits by name`);
  }
  for (const name of names) {
    if (name.length >= 1 && name.length <= LONGEST_NAME) continue;
    throw new RangeError(
      `the name of a tier must have 1 to ${LONGEST_NAME} characters, got ${shown(name)}`,
    );
  }
  return new Tiers(names);
}

/**
 * Makes the limits of a new table. `known` are the options of one limit.
 *
 * @throws RangeError, TypeError for an invalid one, naming it.
 */
export function newLimits<T extends object>(
  given: Tiered<T>,
  known: Known<T>,
  make: (limit: Partial<T>) => Schedule,
): Pick<NewTable, 'tiers' | 'limits'> {
  const tiers = checkTiers(given.tiers);
  const schedules = each(tiers.inOrder(given, known), (one, i) => tiers.at(i, () => make(one)));
  const limits = tableLimits(schedules, tiers.at);
  return { tiers: tiers.names, limits };
}

/** Creates a table with these limits. */
export function createTable<Kind extends CellKind>(
  kind: Kind,
  limits: Pick<NewTable, 'tiers' | 'limits'>,
  options: TableOptions,
): OpenLimiter<Kind> {
  const table = { kind, ...limits, ...checkTable(options) };
  const { clock, region, stats, kernel } = checkShared(options);
  const cell = createKeyedCell({ ...table, nowUs: clock.now(), stats, region, kernel });
  return { kind, cell, clock, kernel };
}

/** Options without the tier, for the method of one key. */
export function withoutTier<T extends object>(
  options: (T & TierOptions) | undefined,
  known: Known<T>,
): T | undefined {
  // `Object`, because what is not an object is refused later, by name.
  if (options === undefined || !('tier' in Object(options))) return options;
  checkOptions<T & TierOptions>(options, { ...known, ...OPTIONS } as never);
  const others: Partial<T> = {};
  // By name, because options may be inherited. Those that are undefined count as omitted.
  for (const name of Object.keys(known) as (keyof T)[]) others[name] = options[name];
  return others as T;
}

/** The tier alone. */
export function tierOf(options: TierOptions | undefined): TierOptions | undefined {
  return options?.tier === undefined ? undefined : { tier: options.tier };
}

/** Opens the kernel of a table. */
export type OpenTable = (
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
) => KeyedKernel;

/** A keyed limiter's table as this thread has opened it. */
export class KeyedTable {
  /** The limiter, as its users have it. */
  readonly limiter: object;
  readonly clock: Clock;
  readonly kernel: KeyedKernel;
  readonly tiers: Tiers;
  /** The same for all objects of one table. */
  readonly identity: string;
  readonly changes: SharedEvent;
  readonly hash: KeyHash;

  constructor(limiter: object, opened: OpenLimiter<CellKind>, open: OpenTable) {
    const { cell, clock, kernel } = opened;
    this.limiter = limiter;
    this.clock = clock;
    this.kernel = open(cell, () => clock.now(), kernel);
    this.tiers = new Tiers(this.kernel.tiers);
    this.identity = identityOf(cell);
    this.changes = changesOf(cell);
    this.hash = new KeyHash(cell);
  }

  /** The limits of the tiers in force, by name. */
  limitsOfTiers<Limit>(limitOf: (schedule: Schedule) => Limit): Readonly<Record<string, Limit>> {
    const [, ...others] = this.kernel.schedules();
    return Object.fromEntries(others.map((one, i) => [this.tiers.names[i], limitOf(one)]));
  }

  /** Changes the table's own limit and those of tiers. `known` are the options of one. */
  changeLimits<T extends object>(
    given: Tiered<T>,
    known: Known<T>,
    make: (change: Partial<T>, inForce: Schedule) => Schedule,
  ): void {
    const { at } = this.tiers;
    const changes = this.tiers.inOrder(given, known);
    this.reconfigure((inForce) =>
      each(inForce, (one, i) => at(i, () => make(changes[i] ?? {}, one))),
    );
  }

  /** Puts new limits in force and wakes waiting callers. `at` names a limit in an error. */
  reconfigure(change: Change, at: NameOf = this.tiers.at): void {
    this.kernel.reconfigure(() => this.clock.now(), change, at);
    announce(this);
  }
}

/** A key of a table, under one of the table's limits. */
export class TableKey {
  readonly table: KeyedTable;
  readonly #kernel: KeyedKernel;
  /** The halves of the key's hash. */
  high = 0;
  low = 0;
  /** 0 for the table's own limit, otherwise the number of a tier. */
  tier = 0;
  key: Key = '';

  constructor(table: KeyedTable) {
    this.table = table;
    this.#kernel = table.kernel;
  }

  /** Turns to a key, under a tier if one is given. */
  turn(key: Key, options?: TierOptions): this {
    const { hash, tiers } = this.table;
    hash.read(key);
    // Branch here, so that calls without options stay small enough to be inlined.
    this.tier = options === undefined ? 0 : tiers.limitOf(options);
    this.high = hash.high;
    this.low = hash.low;
    this.key = key;
    return this;
  }

  /** The kernel, which all keys of a thread share, pointed at this key. */
  seek(): KeyedKernel {
    this.#kernel.seek(this.high, this.low, this.tier);
    return this.#kernel;
  }

  /** The same for all objects of one key, whatever its tier. */
  get name(): string {
    return `${this.high}:${this.low}`;
  }

  /** The same for all limiters on one state, in this thread. */
  get identity(): string {
    return `${this.table.identity}:${this.name}`;
  }

  /** The fields of a message about a refusal. */
  refusal(): Pick<RefusedMessage, 'limiter' | 'key'> {
    return { limiter: this.table.limiter, key: this.key };
  }

  /** Refuses the key for a time; false if it finds no entry in the table, or nothing limits it. */
  block(ms: number): boolean {
    checkNumber('ms', ms, { min: 0, max: 1e11 });
    return this.seek().block(this.table.clock.now(), ms * 1000);
  }

  /** Fills the key's bucket, or empties its window, and wakes the callers that it may serve. */
  reset(): void {
    if (this.seek().reset(this.table.clock.now())) announce(this.table);
  }
}

/** Options common to all keyed limiters. */
export interface TableOptions extends SharedOptions {
  /**
   * Number of keys that the table has room for: an integer from 1 to 67,000,000. Only keys that
   * have taken tokens lately need room: those whose bucket is not full, or whose current window has
   * a count. The table takes 32 bytes per key, allocated up front; a `KeyedLimitSet` takes 192 plus
   * 16 for each limit, so fewer keys fit.
   */
  readonly capacity: number;
  /**
   * What to do with keys that find no entry in the table: let them `'share'` one bucket or window
   * (the default), `'refuse'` or `'admit'` their calls.
   */
  readonly whenFull?: WhenFull;
}

export const TABLE_OPTIONS = { capacity: true, whenFull: true } as const;

/** `bytesPerKey`: a keyed set takes more than one bucket for each key. */
export function checkCapacity(name: string, capacity: number, bytesPerKey = BYTES_PER_KEY): number {
  const max = Math.floor((MAX_CAPACITY * BYTES_PER_KEY) / bytesPerKey);
  return checkNumber(name, capacity, { min: 1, max, integer: true });
}

/**
 * `bytesPerKey`: as in {@link checkCapacity}.
 *
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function checkTable(
  { capacity, whenFull = 'share' }: TableOptions,
  bytesPerKey = BYTES_PER_KEY,
): {
  capacity: number;
  whenFull: WhenFull;
} {
  checkCapacity('capacity', capacity, bytesPerKey);
  checkChoice('whenFull', whenFull, Object.keys(WHEN_FULL));
  return { capacity, whenFull };
}
