import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const PROGRAM = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'redis-server'))
  .find((path) => existsSync(path));
const isRequired = ['CI', 'ZEROTIME_CI'].some((name) => (process.env[name] ?? '') !== '');

/** Whether what needs a Redis server must be left out: never in continuous integration. */
export const LACKS_REDIS = PROGRAM === undefined && !isRequired;
if (LACKS_REDIS) {
  console.warn('NO REDIS: nothing that needs a server is tested. Install redis-server.');
}

export interface RedisServerOptions {
  /** Beside those that every server gets. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

// Below the ports that outgoing connections get, so that a server that is started again finds its
// port free.
const FIRST_PORT = 20_000;
const PORTS = 12_000;
const ATTEMPTS = 20;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A real server on a free port of the loopback interface, in a folder of its own, without persistence. */
export class RedisServer {
  readonly port: number;
  readonly #options: RedisServerOptions;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, options: RedisServerOptions) {
    this.port = port;
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), 'zerotime-redis-'));
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
      const server = new RedisServer(port, options);
      try {
        await server.start();
        return server;
      } catch (error) {
        await server.stop();
        const isTaken = error instanceof Error && error.message.includes('Address already in use');
        if (!isTaken || attempt === ATTEMPTS) throw error;
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again, empty, where it was. Resolves when it takes connections. */
  async start(): Promise<void> {
    if (PROGRAM === undefined) throw new Error('no redis-server: apt-get install redis-server');
    const { args = [], env = {} } = this.#options;
    const child = spawn(
      PROGRAM,
      // biome-ignore format: an option and its value on a line
      [
        '--port', String(this.port),
        '--bind', '127.0.0.1',
        '--dir', this.#folder,
        '--save', '',
        '--appendonly', 'no',
        '--daemonize', 'no',
        '--enable-debug-command', 'local',
        ...args,
      ],
      { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    running.add(child);
    child.once('exit', () => running.delete(child));
    this.#process = child;
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`redis-server ended: ${printed}`)));
      const look = (chunk: Buffer) => {
        printed += chunk;
        if (printed.includes('Ready to accept connections')) resolve();
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
    });
  }

  /** Its process no longer runs, but its connections stay open. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
    const state = `/proc/${this.#process?.pid}/stat`;
    while (existsSync(state) && !readFileSync(state, 'latin1').includes(') T '));
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Ends its process at once; `start` starts another one. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
