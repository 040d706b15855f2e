// Entry point `zerotime/throttle`.
export type { BoundOptions, PerCall, QueueOptions } from './throttle/options.ts';
export type { PermitSource } from './throttle/slots.ts';
export type { ThrottleStats } from './throttle/stats.ts';
export {
  type CloseOptions,
  type Throttled,
  type ThrottledOptions,
  throttled,
} from './throttle/throttled.ts';
export type { TaskLimiter } from './throttle/tokens.ts';
