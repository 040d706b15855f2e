import type { Region } from '../../memory/region.ts';
import { KEYED_BINARY } from '../build/keyed-binary.ts';
import { LazyModule } from './lazy-module.ts';

/** What the module of assembly/keyed.ts exports. An instance serves one table of one thread. */
export interface WasmKeyed {
  open(
    cell: number,
    entries: number,
    originUs: number,
    ticksPerToken: number,
    ticksPerMicro: number,
    capTicks: bigint,
    looks: number,
  ): void;
  take(
    hashHigh: number,
    hashLow: number,
    nowUs: number,
    tokens: number,
    maxWaitUs: number,
    begins: number,
  ): number;
  takeFrom(
    from: bigint,
    hashHigh: number,
    hashLow: number,
    nowUs: number,
    tokens: number,
    maxWaitUs: number,
  ): number;

  // What the last take left.
  seenThen(): bigint;
  entryThen(): number;
  versionThen(): number;
  wordThen(): bigint;
  ticksThen(): number;
  racesLost(): number;
  probesThen(): number;
}

const lazy = new LazyModule<WasmKeyed>(KEYED_BINARY);

/** A compiled kernel for a table in this region; undefined where only JavaScript can work on it. */
export function openWasmKeyed({ memory }: Region, readClock: () => number): WasmKeyed | undefined {
  return lazy.instantiate({ env: { memory }, keyed: { readClock } });
}
