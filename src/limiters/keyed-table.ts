import { changesOf } from '../kernel/bucket/cell.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import { readTable } from '../kernel/keyed/cell.ts';
import { KeyHash } from '../kernel/keyed/hash.ts';
import type { KeyedKernel } from '../kernel/keyed/kernel.ts';
import type { NameOf } from '../kernel/keyed/limits.ts';
import type { Key } from '../kernel/keyed/message.ts';
import type { Change } from '../kernel/keyed/table-change.ts';
import type { Bell } from '../memory/bell.ts';
import { type CellPlace, identityOf } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import type { Clock } from '../time/clock.ts';
import type { OpenLimiter } from './opening.ts';
import { type TierOptions, Tiers } from './tiers.ts';

/** A limiter object that serves one key after another. */
interface Turned {
  turn(high: number, low: number, tier: number): this;
}

type OpenKernel = (
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
) => KeyedKernel;

/** A keyed limiter's table as this thread has opened it. */
export class KeyedTable {
  readonly clock: Clock;
  readonly kernel: KeyedKernel;
  /** The number of limits of every key if it has several; otherwise 0. */
  readonly limitsPerKey: number;
  readonly tiers: Tiers;
  /** The same for all objects of one table. */
  readonly identity: string;
  readonly changes: Bell;
  readonly #hash: KeyHash;

  constructor({ cell, clock, kernel }: OpenLimiter<CellKind>, open: OpenKernel) {
    this.clock = clock;
    this.kernel = open(cell, () => clock.now(), kernel);
    this.limitsPerKey = readTable(cell).limitsPerKey;
    this.tiers = new Tiers(this.kernel.tiers);
    this.identity = identityOf(cell);
    this.changes = changesOf(cell);
    this.#hash = new KeyHash(cell);
  }

  /** Points a limiter at a key, under a tier if one is given. */
  turn<Limiter extends Turned>(limiter: Limiter, key: Key, options?: TierOptions): Limiter {
    this.#hash.read(key);
    // Branch here, so that calls without options stay small enough to be inlined.
    const tier = options === undefined ? 0 : this.tiers.limitOf(options);
    return limiter.turn(this.#hash.high, this.#hash.low, tier);
  }

  /** The limits in force for each key, without tiers. */
  get limits(): readonly Schedule[] {
    return this.kernel.schedules().slice(0, this.limitsPerKey || 1);
  }

  /** The limits of the tiers in force, by name. */
  limitsOfTiers<Limit>(limitOf: (schedule: Schedule) => Limit): Readonly<Record<string, Limit>> {
    const others = this.kernel.schedules().slice(this.limitsPerKey || 1);
    return Object.fromEntries(others.map((one, i) => [this.tiers.names[i], limitOf(one)]));
  }

  /** Puts new limits in force and wakes waiting callers. `at` names a limit in an error. */
  reconfigure(change: Change, at: NameOf = this.tiers.at): void {
    this.kernel.reconfigure(this.clock.now(), change, at);
    this.changes.ring();
    this.clock.rouse?.();
  }
}
