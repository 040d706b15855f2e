import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const PROGRAM = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'redis-server'))
  .find((path) => existsSync(path));
const isRequired = ['CI', 'ZEROTIME_CI'].some((name) => (process.env[name] ?? '') !== '');

/** Whether to skip the tests that need a Redis server: never in continuous integration. */
export const LACKS_REDIS = PROGRAM === undefined && !isRequired;
if (LACKS_REDIS) {
  console.warn('NO REDIS: nothing that needs a server is tested. Install redis-server.');
}

export interface RedisServerOptions {
  /** In addition to the default arguments. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Makes it a sentinel, with these lines in its file besides the port. */
  readonly sentinel?: readonly string[];
}

// Below the ephemeral ports of outgoing connections, so that the port is still free when a server
// restarts.
const FIRST_PORT = 20_000;
const PORTS = 12_000;
const ATTEMPTS = 20;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A real server without persistence, on a free loopback port, in its own folder. */
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

  /** Starts it, empty, on the same port. Resolves when it accepts connections. */
  async start(): Promise<void> {
    if (PROGRAM === undefined) throw new Error('no redis-server: apt-get install redis-server');
    const { env = {} } = this.#options;
    const child = spawn(PROGRAM, this.#args(), {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    this.#process = child;
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`redis-server ended: ${printed}`)));
      const look = (chunk: Buffer) => {
        printed += chunk;
        if (/Ready to accept connections|\+monitor/.test(printed)) resolve();
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
    });
  }

  #args(): string[] {
    const { args = [], sentinel } = this.#options;
    if (sentinel !== undefined) {
      const file = join(this.#folder, 'sentinel.conf');
      const lines = [`port ${this.port}`, 'bind 127.0.0.1', `dir ${this.#folder}`, ...sentinel];
      writeFileSync(file, `${lines.join('\n')}\n`);
      return [file, '--sentinel'];
    }
    // biome-ignore format: an option and its value on a line
    return [
      '--port', String(this.port),
      '--bind', '127.0.0.1',
      '--dir', this.#folder,
      '--save', '',
      '--appendonly', 'no',
      '--daemonize', 'no',
      '--enable-debug-command', 'local',
      ...args,
    ];
  }

  /** Suspends its process; its connections stay open. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
    const state = `/proc/${this.#process?.pid}/stat`;
    while (existsSync(state) && !readFileSync(state, 'latin1').includes(') T '));
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Kills its process; `start` starts a new one. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  }

  /** Kills it and removes its folder. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
