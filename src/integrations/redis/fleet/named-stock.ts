import type { Known } from '../../../known-options.ts';
import {
  checkShared,
  handleOfName,
  type LimiterHandle,
  type OpenOptions,
  openByName,
  type SharedOptions,
} from '../../../limiters/opening.ts';
import type { Opener } from '../../../limiters/terms.ts';
import type { KernelName } from '../../../memory/handle.ts';
import { FLEET_CELL_BYTES } from '../../../memory/layout/fleet.ts';
import { Region } from '../../../memory/region.ts';
import { attachClock } from '../../../time/attach-clock.ts';
import type { Clock } from '../../../time/clock.ts';
import { openFleetCell, termsIn } from './fleet-cell.ts';
import { Stock } from './stock.ts';
import { completeTerms, type FleetTermsOptions } from './terms.ts';

type StockOptions = SharedOptions & FleetTermsOptions;

/** A stock with a name, as a thread has opened it. */
interface NamedStock {
  readonly handle: { readonly offset: number };
  readonly stock: Stock;
  readonly clock: Clock;
  /** Whether spends are counted. */
  readonly stats: boolean;
}

function open(
  region: Region,
  offset: number,
  clock: Clock,
  kernel: KernelName | undefined,
): NamedStock {
  const cell = openFleetCell(region, offset);
  const name = { name: '', cell: cell.bucket, clock: cell.clock };
  const bucket = { ...handleOfName(region, name, 'token-bucket'), kernel };
  const stock = Stock.open({ zerotime: 'fleet-bucket', bucket, offset });
  return { handle: { offset }, stock, clock, stats: cell.stats };
}

function create(options: StockOptions): NamedStock {
  const { clock, kernel } = checkShared(options);
  const region = options.region as Region; // the one of the name
  const terms = completeTerms(options);
  return open(region, Stock.createIn(region, terms, options), clock, kernel);
}

function attach(handle: LimiterHandle<'fleet-bucket'>): NamedStock {
  const { memory, path, process, offset, clock, kernel } = handle;
  const region = Region.of(memory, path, process);
  return open(region, offset, attachClock(clock, region), kernel);
}

const cell: Opener = (region, offset) => ({
  place: { region, offset, bytes: FLEET_CELL_BYTES },
  terms: { ...termsIn(openFleetCell(region, offset)) },
});

/** Opens the stock of a name in a region, and creates it if nobody has. */
export function openNamedStock(
  region: Region,
  name: string,
  options: OpenOptions<StockOptions>,
  known: Known<StockOptions>,
): NamedStock {
  const made = { create, attach };
  const maker = { kind: 'fleet-bucket', cell, changeable: [], known, made } as const;
  const isLocal = options.whenUnreachable === 'local';
  // A stock without a local share has neither.
  const given = isLocal ? options : { ...options, rate: undefined, processes: undefined };
  return openByName(maker, region, name, given);
}
