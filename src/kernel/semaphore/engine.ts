import type { EngineResults } from '../bucket/engine.ts';
import { semaphores as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';

/** The engine's operations on semaphores. The host passes the number of seats that it checked. */
export interface SemaphoreEngine extends Pick<EngineResults, 'lostRaces'> {
  semaphoreTake(cell: number, seats: number, owner: number, hint: number, n: number): number;
  semaphoreJoin(cell: number, seats: number, owner: number, hint: number, n: number): number;
  /** The generation of the seat that the last call took or found. */
  semaphoreGeneration(): number;
  semaphoreRelease(cell: number, seats: number, seat: number, generation: number): number;
  semaphoreIsGranted(cell: number, seats: number, seat: number, generation: number): number;
  semaphoreLeave(cell: number, seats: number, seat: number, generation: number): number;
  semaphoreIsQueued(cell: number): number;
  semaphoreServe(cell: number, seats: number): number;
  semaphoreWaiting(cell: number, seats: number): number;
  semaphoreHasRoom(cell: number, seats: number): number;
  semaphoreOwns(cell: number, seats: number, owner: number): number;
  semaphoreChange(cell: number, seats: number, owner: number, permits: number): number;
  semaphoreLook(cell: number, seats: number): number;
  /** The results of the last look. */
  semaphorePermits(): number;
  semaphoreAvailable(): number;
  semaphoreRecover(cell: number, seats: number, owner: number): number;
  semaphoreHold(cell: number, seats: number, seat: number, generation: number, due: number): number;
  semaphoreUndated(cell: number, seats: number, from: number): number;
  semaphoreExpire(cell: number, seats: number, now: number): number;
  // The window of an adaptive semaphore, at its own address; `us` since the semaphore's origin.
  adaptAdd(cell: number, at: number, latency: number, us: number): number;
  adaptDrop(cell: number, at: number, us: number): number;
  adaptClose(at: number, us: number): number;
  adaptPut(at: number, field: number, value: number): void;
  adaptValue(at: number, field: number): number;
  adaptDroppedEver(at: number): number;
  /** What the last close took. */
  adaptCount(): number;
  adaptSum(): number;
  adaptDropped(): number;
  adaptMostInFlight(): number;
}

/** The engine of semaphores. */
export const semaphores = /* @__PURE__ */ new EngineModule<SemaphoreEngine>(build);
