import { type ChildProcess, fork } from 'node:child_process';
import { systemClock } from '../src/index.ts';
import type { FleetStats } from '../src/integrations/redis.ts';
import { messageOf } from './child-message.ts';
import type { Spend } from './spend-log.ts';
import type { FleetProcessReport, FleetProcessTask } from './workers/fleet-process.ts';
import type { FleetStretch } from './workers/fleet-thread.ts';

const SCRIPT = new URL('./workers/fleet-process.js', import.meta.url);
const MEMBER = 'a process of the fleet';
/** Time for the start message to reach all threads. */
const HEAD_START_US = 100_000;

/** The results of a fleet's run. */
export interface FleetRun {
  readonly stretch: FleetStretch;
  /** The spends of each process. */
  readonly spends: readonly (readonly Spend[])[];
  readonly stats: readonly FleetStats[];
}

function spendsOf({ logs }: FleetProcessReport): Spend[] {
  return logs.flatMap((log) => {
    const spends: Spend[] = [];
    for (let at = 0; at < log.length; at += 3) {
      const [fromUs = 0, toUs = 0, tokens = 0] = log.subarray(at, at + 3);
      spends.push({ fromUs, toUs, tokens });
    }
    return spends;
  });
}

/** The report of a process; undefined if it is killed first. */
async function reportOf(child: ChildProcess): Promise<FleetProcessReport | undefined> {
  try {
    return await messageOf(child, MEMBER);
  } catch (error) {
    if (child.signalCode !== null) return undefined;
    throw error;
  }
}

/** A group of processes that run the same task at the same time. */
export class FleetCrew {
  readonly children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.children = children;
  }

  /**
   * Starts the processes and waits until they are ready. `script` is the compiled
   * workers/fleet-process.
   */
  static async start(
    processes: number,
    task: FleetProcessTask,
    script = SCRIPT,
  ): Promise<FleetCrew> {
    const children = Array.from({ length: processes }, () =>
      fork(script, { serialization: 'advanced' }),
    );
    for (const child of children) child.send(task);
    await Promise.all(children.map((child) => messageOf(child, MEMBER)));
    return new FleetCrew(children);
  }

  /** Spends for `ms`. Processes killed in the meantime report nothing. */
  async spend(ms: number): Promise<FleetRun> {
    const startUs = systemClock.now() + HEAD_START_US;
    const stretch = { startUs, endUs: startUs + ms * 1000 };
    const reports = await Promise.all(
      this.children.map(async (child) => {
        child.send(stretch);
        return reportOf(child);
      }),
    );
    const told = reports.filter((report) => report !== undefined);
    return { stretch, spends: told.map(spendsOf), stats: told.map(({ stats }) => stats) };
  }
}
