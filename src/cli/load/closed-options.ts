import type { Command } from 'commander';
import type { ClosedOptions } from '../../load/closed/run-closed.ts';
import type { Gate } from '../../load/gates.ts';
import { gatesOf } from './gate-options.ts';
import { type CommandOptions, DEFAULT_THREADS } from './load-options.ts';
import { taskOf } from './task-options.ts';
import { transportOf } from './transport-options.ts';

const DEFAULT_WARMUP_MS = 500;
const DEFAULT_ROUNDS = 5;

/** Options that need a rate, by the names that commander gives them. */
const OF_RATES = {
  burst: 'burst',
  arrivals: 'arrivals',
  seed: 'seed',
  redis: 'redis',
  redisKey: 'redis-key',
  minRate: 'min-rate',
} as const;

/** A run as fast as the threads can. */
export interface ClosedPlan {
  readonly options: ClosedOptions;
  readonly gates: readonly Gate[];
}

/** The options of a run with `--rate max`. Ends the command with an error if others contradict it. */
export function closedPlan(
  url: string | undefined,
  given: CommandOptions,
  command: Command,
): ClosedPlan {
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli';
  for (const [name, option] of Object.entries(OF_RATES)) {
    if (isGiven(name)) command.error(`error: --${option} needs a rate per second, got --rate max`);
  }
  const task =
    taskOf(url, { ...given }, command, 1) ??
    command.error('error: --rate max needs a module; a server needs a rate per second');
  // A module has no transport: any option of it is an error.
  transportOf(url, given, command);
  return {
    options: {
      task,
      threads: given.threads ?? DEFAULT_THREADS,
      durationMs: given.duration,
      rounds: given.rounds ?? DEFAULT_ROUNDS,
      warmupMs: isGiven('warmup') ? given.warmup : DEFAULT_WARMUP_MS,
      timeoutMs: given.timeout,
    },
    gates: gatesOf({ ...given }),
  };
}
