// Entry point `zerotime/load`.

export { drive } from './load/api/drive.ts';
export type {
  ArrivalsResult,
  BlockedFigures,
  ClosedFigures,
  DesignEffects,
  DriveResult,
  DriveTerms,
  DriveTimes,
  DriveVerdict,
  FailuresByTime,
  RequestTerms,
  Round,
  RoundThread,
  Spread,
  ThreadFigures,
} from './load/judge/drive-result.ts';
export type {
  ConnectionLimit,
  FitnessLimit,
  FitnessResult,
  FullThreads,
  LatenessLimit,
  LoopLimit,
  ProcessorLimit,
  SampleLimit,
} from './load/judge/fitness.ts';
export type { ErrorGate, Gate, GateResult, LatencyGate, RateGate } from './load/judge/gates.ts';
export type { Guarantee, ScheduledCalls, TightestInterval } from './load/judge/guarantee.ts';
export type { ConfidenceRange } from './load/judge/interval.ts';
export type { DriveError } from './load/measure/errors.ts';
export type { ProcessorUse } from './load/measure/gauges.ts';
export type { LatencySlot } from './load/measure/latency-timeline.ts';
export type { Machine } from './load/measure/machine.ts';
export type { CallCounts } from './load/measure/tally.ts';
export { percentileMs, type Times, type TimesMs } from './load/measure/times.ts';
export type {
  DriveArrivals,
  DriveOptions,
  DriveProgress,
  EvenArrivals,
  HttpTarget,
  ListedArrivals,
  PoissonArrivals,
  TargetTls,
} from './load/plan/drive-options.ts';
export type { RateRamp } from './load/plan/rate-course.ts';
export type { TaskCall, TaskModule, TaskSetup } from './load/task/task.ts';
