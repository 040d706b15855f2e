import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const INSTALL_REDIS = 'apt-get install redis-server';

/** A private server without persistence, on a socket in a temporary folder. */
export class BenchRedis {
  readonly path: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'zerotime-bench-'));
  readonly #process: ChildProcess;

  private constructor() {
    this.path = join(this.#folder, 'redis.sock');
    const options = ['--port', '0', '--unixsocket', this.path, '--dir', this.#folder];
    this.#process = spawn('redis-server', [...options, '--save', '', '--appendonly', 'no'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }

  /** Undefined if redis-server is not installed. */
  static async start(): Promise<BenchRedis | undefined> {
    const server = new BenchRedis();
    const child = server.#process;
    const isThere = await new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false));
      child.once('spawn', () => resolve(true));
    });
    if (!isThere) {
      server.#remove();
      return undefined;
    }
    for await (const line of createInterface(child.stdout as NodeJS.ReadableStream)) {
      if (line.includes('eady to accept connections')) break;
    }
    child.stdout?.resume();
    return server;
  }

  #remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.kill();
    await exit;
    this.#remove();
  }
}

/** Commands that a server has carried out. */
export interface Spent {
  /** Calls of scripts by clients. */
  sent: number;
  /** All commands, including those of scripts. */
  executed: number;
  /** Microseconds that the calls of scripts took. */
  serverUs: number;
}

/** Reads the answer of `INFO commandstats`. */
export function commandStats(stats: string): Spent {
  let sent = 0;
  let executed = 0;
  let serverUs = 0;
  for (const [, name = '', calls, us] of stats.matchAll(
    /cmdstat_([^:]+):calls=(\d+),usec=(\d+)/g,
  )) {
    if (name === 'info' || name.startsWith('config')) continue;
    executed += Number(calls);
    if (!name.startsWith('eval')) continue;
    sent += Number(calls);
    serverUs += Number(us);
  }
  return { sent, executed, serverUs };
}
