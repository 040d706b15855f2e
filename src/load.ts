// Entry point `zerotime/load`.
export type { ClosedFigures, Round, RoundThread, Spread } from './load/api/closed-figures.ts';
export { drive } from './load/api/drive.ts';
export type {
  DriveArrivals,
  DriveOptions,
  EvenArrivals,
  HttpTarget,
  ListedArrivals,
  PoissonArrivals,
  RateRamp,
  TargetTls,
} from './load/api/drive-options.ts';
export type {
  ArrivalsResult,
  BlockedFigures,
  CallCounts,
  DriveError,
  DriveResult,
  DriveTerms,
  DriveTimes,
  DriveVerdict,
  GateResult,
  Guarantee,
  RequestTerms,
  ThreadFigures,
  TightestInterval,
} from './load/api/drive-result.ts';
export type {
  ConfidenceRange,
  FitnessLimit,
  FitnessResult,
  ProcessorUse,
} from './load/api/fitness-result.ts';
export type { DriveProgress } from './load/api/progress.ts';
export { percentileMs, type Times, type TimesMs } from './load/api/times.ts';
export type { ErrorGate, Gate, LatencyGate, RateGate } from './load/gates.ts';
export type { TaskCall, TaskModule, TaskSetup } from './load/task/task.ts';
