import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HandleError } from '../../../errors.ts';
import { HostRegion } from '../../../host/host-region.ts';
import type { HostLimiter } from '../../../host/limiters.ts';
import type { HostProcess } from '../../../host/membership.ts';
import { fieldsOf } from '../../../host/operations.ts';
import { pathOf } from '../../../host/region-file.ts';
import { type Reading, readingIfAny } from '../../../integrations/metrics/readings.ts';
import { cellOf } from '../../../limiters/terms.ts';
import { printableLine } from '../../../load/plan/redact.ts';
import { changesIn } from '../requested-change.ts';
import { others, recovered, usage } from '../summary.ts';
import type { LimiterView, Point, RegionView } from './view.ts';

/** The changes that the page shows. */
const SHOWN_CHANGES = 20;

/** A limiter that was read. */
export interface ReadLimiter {
  /** Undefined if it has no state that can be read, such as a `Sometimes`. */
  readonly reading: Reading | undefined;
  readonly view: LimiterView;
}

/** A region that was read. */
export interface ReadRegion {
  /** Undefined if it cannot be opened. */
  readonly region: HostRegion | undefined;
  readonly limiters: readonly ReadLimiter[];
  readonly processes: readonly HostProcess[];
  readonly view: RegionView;
}

/**
 * The region in a file that may not exist yet, or may be replaced: each reading opens what is there
 * now.
 */
export class WatchedRegion {
  readonly path: string;
  /** The same for all paths to one file. */
  readonly realPath: string;
  readonly #owner: number | undefined;
  #open: HostRegion | undefined;

  constructor(path: string, owner: number | undefined) {
    this.path = pathOf(path);
    this.realPath = realPathOf(this.path);
    this.#owner = owner;
  }

  /**
   * The region that is in the file now.
   *
   * @throws HandleError if there is none that can be opened.
   */
  find(): HostRegion {
    let found: HostRegion | undefined;
    try {
      found = HostRegion.find(this.path, this.#owner);
      return found;
    } finally {
      // Processes that still use a file that was replaced keep it.
      if (this.#open !== found) this.close();
      this.#open = found;
    }
  }

  /** Reads the region. Never throws: one that is damaged says so. */
  read(): ReadRegion {
    try {
      const region = this.find();
      const limiters = region.limiters().map((one) => readLimiter(region, one));
      const processes = others(region);
      return { region, limiters, processes, view: viewOf(this.path, region, limiters, processes) };
    } catch (error) {
      const reason = error instanceof Error ? error.message : `${error}`;
      const nothing = { limiters: [], processes: [] };
      const view = { ...nothing, path: this.path, facts: [], changes: [] };
      return { ...nothing, region: undefined, view: { ...view, error: printableLine(reason) } };
    }
  }

  close(): void {
    try {
      this.#open?.close();
    } catch (error) {
      // A damaged region keeps what this process holds in it, which is nothing.
      if (!(error instanceof HandleError)) throw error;
    }
    this.#open = undefined;
  }
}

/** Resolves symbolic links among the folders; the file itself is never one. */
function realPathOf(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path; // the folder does not exist yet
  }
}

/**
 * Reads a limiter. Callers that wait for tokens are counted by their own threads only, so this one
 * knows none; those that wait for permits are in the region.
 */
function readLimiter(region: HostRegion, one: HostLimiter): ReadLimiter {
  const { name, kind, limiter } = one;
  const read = readingIfAny(limiter);
  const { waiting, ...others } = read ?? {};
  const reading = read && ({ ...others, ...(kind === 'semaphore' && { waiting }) } as Reading);
  const isDamaged = reading?.damaged === 1;
  const view = {
    name,
    label: printableLine(name),
    kind,
    limit: limitOf(region, one),
    unit: unitOf(reading),
    isDamaged,
    actions: isDamaged ? [] : actionsOf(kind),
  };
  return { reading, view };
}

/** The options that matter to a limit, as text. */
function limitOf(region: HostRegion, { kind, limiter }: HostLimiter): string {
  try {
    if (kind === 'fleet-bucket') return `stock ${limiter.limit}`;
    const { whenFull, capacity, ...terms } = cellOf(region, limiter.handle).terms;
    const parts = [...fieldsOf(terms)].map(([field, value]) => `${field} ${value}`);
    return printableLine(parts.join(', '));
  } catch (error) {
    return printableLine((error as Error).message);
  }
}

function unitOf(reading: Reading | undefined): LimiterView['unit'] {
  if (reading?.permits !== undefined) return 'permits';
  if (reading?.available !== undefined) return 'tokens';
  return reading?.entries === undefined ? '' : 'keys';
}

function actionsOf(kind: HostLimiter['kind']): LimiterView['actions'] {
  if (kind === 'fleet-bucket' || kind === 'sometimes') return [];
  if (kind === 'keyed-limit-set') return ['set', 'pause', 'resume', 'block', 'reset'];
  if (kind.startsWith('keyed')) return ['set', 'block', 'reset'];
  const isBucket = kind.endsWith('bucket') || kind === 'limit-set';
  return ['set', 'pause', 'resume', ...(isBucket ? ['reset' as const] : [])];
}

/** A reading as a point of the charts. */
export function pointOf({ reading = { damaged: 1 } }: ReadLimiter): Point {
  const { permits, inUse, available, balance, entries, burst } = reading;
  const level = permits === undefined ? (balance ?? available ?? entries) : inUse;
  const most = permits ?? (available === undefined ? undefined : burst);
  const { admitted, refused, waiting } = reading;
  return [level, most, admitted, refused, waiting].map(finite) as unknown as Point; // five
}

/** JSON has no Infinity. */
function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(12));
}

function viewOf(
  path: string,
  region: HostRegion,
  limiters: readonly ReadLimiter[],
  processes: readonly HostProcess[],
): RegionView {
  const alive = processes.filter(({ isAlive }) => isAlive).length;
  const back = recovered(region);
  return {
    path,
    facts: [
      ['Memory', usage(region)],
      ['Processes', `${alive}`],
      ...(back === '' ? [] : [['Recovered so far', back] as const]),
    ],
    limiters: limiters.map(({ view }) => view),
    processes,
    changes: changesIn(region).slice(-SHOWN_CHANGES).reverse(),
  };
}
