import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { type Limits, openKeyedCell } from '../../src/kernel/keyed/cell.ts';
import { HostedKeyed } from '../../src/kernel/keyed/host.ts';
import type { KeyedEngine } from '../../src/kernel/keyed/kernel.ts';
import { Region } from '../../src/limiters/region.ts';
import { type CellPlace, nonceOf } from '../../src/memory/cell.ts';
import { type CellKind, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import type { RateLimit } from '../oracle/limit-set.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';

/** The time of the tables: long after their creation. */
export const NOW_US = 10_000_000;
/** Kept small, because each look at an entry that another thread holds adds interleavings. */
export const LOOKS = 1;

/** The limits of a table. */
export function tableSchedules(limits: readonly RateLimit[]): Limits<Schedule> {
  const [first, ...others] = limits.map(({ rate, burst }) => continuous(rate, burst));
  return [first as Schedule, ...others]; // at least one
}

/** The table that is the only limiter of a region. */
function tablePlace(buffer: SharedArrayBuffer, kind: CellKind = 'keyed-token-bucket'): CellPlace {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  return openKeyedCell(region, offset, kind, nonce);
}

/** A table whose keys have one limit. */
export function openTable(
  buffer: SharedArrayBuffer,
  kernel: ExploredKernel = 'atomics',
): HostedKeyed {
  const place = tablePlace(buffer);
  const { region } = place;
  const imports = { host: { readClock: () => NOW_US } };
  return new HostedKeyed(
    exploredEngine<KeyedEngine>('keyed', kernel, region, imports),
    place,
    LOOKS,
  );
}
