import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { Spend } from '../../../bench/spend-log.ts';
import { HostRegion } from '../../../src/host.ts';
import { TokenBucket } from '../../../src/index.ts';
import { FleetBucket, FleetSpender, type TokenSource } from '../../../src/integrations/redis.ts';
import { FLEET_STOCK, LEADER_ENTRY_BITS } from '../../../src/memory/layout/fleet.ts';
import { PROCESS, PROCESS_BYTES, REGION } from '../../../src/memory/layout.ts';
import { ask, hostPath, startProcesses } from '../../support/host.ts';
import {
  type FleetJob,
  type FleetOpening,
  type FleetView,
  SPENT,
} from '../../workers/fleet-user.ts';

/** The limit and the stock by default. */
export const LIMIT = { rate: 2000, burst: 100 };
export const STOCK = 40;

/** A source that never has tokens. */
export const NO_SOURCE: TokenSource = {
  consumeOrDrain: async () => 0,
  returnTokens: async () => undefined,
};

/** Does a job in a process of `fleet-user`, and returns its result. */
export async function result<Result>(child: ChildProcess, job: FleetJob): Promise<Result> {
  const answer = await ask<{ result: Result; error?: string }>(child, job);
  if (answer.error !== undefined) throw new Error(`in a process: ${answer.error}`);
  return answer.result;
}

/** Processes with a fleet bucket of one name, and what the region knows of them. */
export class HostFleet {
  readonly region: HostRegion;
  readonly spent: TokenBucket;
  readonly opening: FleetOpening;
  readonly children: ChildProcess[] = [];
  #cell = 0;

  constructor(options: Partial<FleetOpening> = {}) {
    const path = hostPath();
    this.region = HostRegion.open({ path });
    onTestFinished(() => this.region.close());
    this.spent = TokenBucket.open(this.region, 'spent', SPENT);
    this.opening = { path, limit: LIMIT, stock: STOCK, minStock: 10, ...options };
  }

  /** Opens the fleet bucket in this thread. */
  open(source: TokenSource): Promise<FleetBucket> {
    const { stock, minStock } = this.opening;
    return FleetBucket.open(this.region, 'hot', { source, stock, minStock });
  }

  /** Starts processes that open the fleet bucket, one after the other. */
  async add(count: number): Promise<void> {
    for (const child of await startProcesses('fleet-user', count)) {
      await result(child, { open: this.opening });
      this.children.push(child);
    }
    this.#cell = (await this.look(this.child)).handle.offset ?? 0;
  }

  async addOne(): Promise<ChildProcess> {
    await this.add(1);
    return this.children.at(-1) as ChildProcess;
  }

  /** Starts two processes. The first one buys. */
  async addTwo(): Promise<readonly [ChildProcess, ChildProcess]> {
    return [await this.addOne(), await this.addOne()];
  }

  /** One of the processes. */
  get child(): ChildProcess {
    const [child] = this.children;
    if (child === undefined) throw new Error('no process');
    return child;
  }

  look(child: ChildProcess): Promise<FleetView> {
    return result<FleetView>(child, { look: true });
  }

  get #word(): number {
    return Atomics.load(this.region.i32, (this.#cell + FLEET_STOCK.buyer) >> 2);
  }

  /** The tokens that all processes have spent, those that were killed included. */
  get spentByAll(): number {
    return SPENT.burst - this.spent.available();
  }

  /** The epochs of buyers so far. */
  get epochs(): number {
    return this.#word >> (LEADER_ENTRY_BITS + 2);
  }

  /** The entry of the process that buys, or bought last. */
  get buyerEntry(): number {
    return (this.#word >> 2) % 2 ** LEADER_ENTRY_BITS;
  }

  get buyer(): ChildProcess | undefined {
    const { i32 } = this.region;
    const at = (i32[REGION.processes] ?? 0) + this.buyerEntry * PROCESS_BYTES + PROCESS.pid;
    return this.children.find(({ pid }) => pid === i32[at >> 2]);
  }

  /** Attaches this thread, without a source, by a handle that went through JSON. */
  async spender(): Promise<FleetSpender> {
    const { handle } = await this.look(this.child);
    return FleetSpender.attach(handle);
  }

  async kill(child: ChildProcess): Promise<void> {
    this.children.splice(this.children.indexOf(child), 1);
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  async start(): Promise<void> {
    for (const child of this.children) await result(child, { start: true });
  }

  /** The spends of the processes that are left. */
  async stop(): Promise<Spend[]> {
    const spends = this.children.map((child) => result<Spend[]>(child, { stop: true }));
    return (await Promise.all(spends)).flat();
  }
}
