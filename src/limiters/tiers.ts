import type { Limits, NameOf } from '../kernel/keyed/cell.ts';
import { checkOptions, type Known } from '../known-options.ts';
import { MAX_KEYED_LIMITS } from '../memory/layout.ts';
import { checkObject, shown } from '../options.ts';

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
    const wanted = this.names.length === 0 ? 'omitted: there are no tiers' : this.#wanted();
    if (typeof tier !== 'string') throw new TypeError(`tier must be ${wanted}, got ${shown(tier)}`);
    throw new RangeError(`tier must be ${wanted}, got ${shown(tier)}`);
  }

  #wanted(): string {
    return `one of ${this.names.join(', ')}`;
  }

  /** Prefixes errors with the name of their limit. */
  readonly at: NameOf = (i, make) => {
    if (i === 0) return make();
    const place = `tiers.${this.names[i - 1]}`;
    try {
      return make();
    } catch (error) {
      if (error instanceof RangeError) throw new RangeError(`${place}.${error.message}`);
      if (error instanceof TypeError) throw new TypeError(`${place}.${error.message}`);
      throw error;
    }
  };

  /** The values of `tiers` by limit, after `own`; undefined for a tier that is missing. */
  inOrder<T extends object>(
    own: T,
    tiers: Given<T> | undefined,
    known: Known<T>,
  ): Limits<Partial<T>> {
    const given = Object.entries(tiers === undefined ? {} : checkObject('tiers', tiers));
    for (const [name] of given) {
      if (!this.names.includes(name)) {
        throw new RangeError(`tiers must be among ${this.names.join(', ')}, got ${shown(name)}`);
      }
    }
    const byName = new Map(given);
    const values = this.names.map((name) => {
      const value = byName.get(name) ?? {};
      return checkOptions(checkObject(`tiers.${name}`, value), known, `tiers.${name}`);
    });
    return [own, ...values];
  }
}

type Given<T> = Readonly<Record<string, Partial<T>>>;

/** Checks the names of a new table's tiers. */
export function checkTiers(tiers: object | undefined): Tiers {
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

/** Options without the tier, for the method of one key. */
export function withoutTier<T extends object>(
  options: (T & TierOptions) | undefined,
): T | undefined {
  if (options?.tier === undefined) return options;
  const { tier, ...others } = options;
  return others as unknown as T; // T has no tier of its own
}

/** The tier alone. */
export function tierOf(options: TierOptions | undefined): TierOptions | undefined {
  return options?.tier === undefined ? undefined : { tier: options.tier };
}
