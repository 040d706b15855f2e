import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../src/index.ts';
import type { FleetStats } from '../src/integrations/redis.ts';
import type { Spend } from './spend-log.ts';
import type { FleetProcessReport, FleetProcessTask } from './workers/fleet-process.ts';
import type { FleetStretch } from './workers/fleet-thread.ts';

const SCRIPT = new URL('./workers/fleet-process.js', import.meta.url);
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

/** The next message of a process; undefined if it is killed first. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const onExit = (code: number | null) => ended.abort(code);
  child.once('exit', onExit);
  try {
    const [message] = await once(child, 'message', { signal: ended.signal });
    return message;
  } catch (error) {
    const { reason } = ended.signal;
    if (reason === null) return undefined;
    throw new Error(`a process of the fleet ended with ${reason}`, { cause: error });
  } finally {
    child.off('exit', onExit);
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
    await Promise.all(children.map(messageOf));
    return new FleetCrew(children);
  }

  /** Spends for `ms`. Processes killed in the meantime report nothing. */
  async spend(ms: number): Promise<FleetRun> {
    const startUs = systemClock.now() + HEAD_START_US;
    const stretch = { startUs, endUs: startUs + ms * 1000 };
    const reports = await Promise.all(
      this.children.map(async (child) => {
        child.send(stretch);
        return (await messageOf(child)) as FleetProcessReport | undefined;
      }),
    );
    const told = reports.filter((report) => report !== undefined);
    return { stretch, spends: told.map(spendsOf), stats: told.map(({ stats }) => stats) };
  }
}
