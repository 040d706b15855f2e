// Entry point `zerotime/load`.
export type { ClosedFigures, Round, RoundThread, Spread } from './load/api/closed-figures.ts';
export { drive } from './load/api/drive.ts';
export type { DriveOptions, HttpTarget, RateRamp } from './load/api/drive-options.ts';
export type {
  BlockedFigures,
  CallCounts,
  DriveError,
  DriveResult,
  DriveTimes,
  DriveVerdict,
  FitnessResult,
  GateResult,
  Guarantee,
  ThreadFigures,
  TightestInterval,
} from './load/api/drive-result.ts';
export type { DriveProgress } from './load/api/progress.ts';
export { percentileMs, type Times, type TimesMs } from './load/api/times.ts';
export type { ClientLimit, Fitness } from './load/fitness.ts';
export type { Gate } from './load/gates.ts';
export type { TaskCall, TaskModule, TaskSetup } from './load/task/task.ts';
