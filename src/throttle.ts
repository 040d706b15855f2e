// Entry point `zerotime/throttle`.

export type { ThrottleStats } from './throttle/call.ts';
export type { CloseOptions } from './throttle/dispatcher.ts';
export type { PermitSource } from './throttle/lanes.ts';
export type { BoundOptions, PerCall, QueueOptions } from './throttle/options.ts';
export {
  type Throttled,
  type ThrottledOptions,
  throttled,
} from './throttle/throttled.ts';
export type { TaskLimiter } from './throttle/tokens.ts';
