import { rmSync } from 'node:fs';
import type { HostRegion } from '../../host.ts';
import { beside } from '../beside.ts';
import type { ThreadData } from './messages.ts';
import { ProcessHandle } from './process-handle.ts';
import type { StartThread } from './thread-handle.ts';

const LOAD_PROCESS = beside('load-process.js');
/** Room for the bucket and the list of processes. */
const REGION_BYTES = 65_536;

let teams = 0;

/** Processes whose threads share one limiter, in a region that all of them map. */
export class ProcessTeam {
  /** The region to create the bucket in. */
  readonly region: HostRegion;
  readonly #members: readonly ProcessHandle[];
  readonly #threads: number;
  #started = 0;

  private constructor(region: HostRegion, members: readonly ProcessHandle[], threads: number) {
    this.region = region;
    this.#members = members;
    this.#threads = threads;
  }

  /**
   * Starts processes with this many threads each.
   *
   * @throws Error if processes can't share memory on this machine, or one can't start.
   */
  static async start(processes: number, threads: number): Promise<ProcessTeam> {
    const region = await openRegion();
    const starts = Array.from({ length: processes }, (_, first) =>
      ProcessHandle.start(LOAD_PROCESS, region.path, { first, of: processes }),
    );
    const results = await Promise.allSettled(starts);
    // All processes have it open. Without a path, no file stays behind however this process ends.
    rmSync(region.path);
    const members = results.flatMap((r) => (r.status === 'fulfilled' ? [r.value] : []));
    const team = new ProcessTeam(region, members, threads);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return team;
    await team.close();
    throw failed.reason;
  }

  /** Starts a thread in the next process that lacks one. */
  readonly startThread: StartThread = (code, data) => {
    const member = this.#members[Math.floor(this.#started / this.#threads)];
    if (member === undefined) throw new Error('all processes have all of their threads');
    this.#started += 1;
    return member.startThread(code, data as ThreadData); // of threads at a rate
  };

  /** Processor time used by all processes, in milliseconds. */
  get cpuMs(): number {
    return this.#members.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  }

  /** Ends the processes. */
  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()));
    this.region.close();
  }
}

async function openRegion(): Promise<HostRegion> {
  const path = `zerotime-load-${process.pid}-${Date.now()}-${teams++}`;
  try {
    const host = await import('../../host.ts');
    return host.HostRegion.open({ path, bytes: REGION_BYTES });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`processes cannot share a limiter here: ${message}`, { cause });
  }
}
