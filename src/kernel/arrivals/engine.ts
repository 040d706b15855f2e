import { arrivals as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';

/** The unit of a cell's instants, and a clock reading. */
type Instant = [originUs: number, unitUs: number, nowUs: number];

/** The engine's operations on the arrivals at a sampler. */
export interface ArrivalsEngine {
  arrivalsAdd(...call: [cell: number, ...Instant, n: number]): number;
  arrivalsLook(...call: [cell: number, ...Instant]): number;
  refusalsAdd(cell: number): void;
  refusalsAnswer(cell: number): number;
}

/** The engine of arrivals. */
export const arrivals = /* @__PURE__ */ new EngineModule<ArrivalsEngine>(build);
