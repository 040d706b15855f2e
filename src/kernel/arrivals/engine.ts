import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import { arrivals as build } from '../build/modules.ts';
import { EngineModule, type Opened } from '../open.ts';

/** The unit of a cell's instants, and a clock reading. */
type Instant = [originUs: number, unitUs: number, nowUs: number];

/** The engine's operations on the arrivals at a sampler. */
export interface ArrivalsEngine {
  arrivalsAdd(...call: [cell: number, ...Instant, n: number]): number;
  arrivalsLook(...call: [cell: number, ...Instant]): number;
  refusalsAdd(cell: number): void;
  refusalsAnswer(cell: number): number;
}

const module = /* @__PURE__ */ new EngineModule<ArrivalsEngine>(build);

/** The engine for a region's arrivals. */
export function openArrivalsEngine(
  region: Region,
  asked: KernelName | undefined,
): Opened<ArrivalsEngine> {
  return module.openShared(region, asked);
}
