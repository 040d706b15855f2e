import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { KEY_BURST, type KeyTraffic } from '../key-traffic.ts';
import type { KeysData } from '../workers/keys.ts';
import type { ShardData } from '../workers/shard-client.ts';
import { measureCluster } from './flexible-cluster.ts';
import type { Counts, Run } from './peer.ts';
import { measureThreads } from './worker-threads.ts';

const WORKER = new URL('../workers/keys.js', import.meta.url);
const SHARD = new URL('../workers/shard.js', import.meta.url);
const SHARD_CLIENT = new URL('../workers/shard-client.js', import.meta.url);

/** One measurement of many keys. */
export interface KeyRun extends Omit<Run, 'load'> {
  readonly traffic: KeyTraffic;
  readonly keys: number;
}

/** What is asked for a key. */
export interface KeyPeer {
  readonly name: string;
  /** The largest number of threads that can share the limits. */
  readonly mostThreads: number;
  /** Whether it can answer for keys that it has not seen. */
  readonly isLimiter: boolean;
  measure(run: KeyRun): Promise<Counts>;
}

function measureLocal(asked: KeysData['asked'], run: KeyRun): Promise<Counts> {
  const { traffic, keys } = run;
  let thread = 0;
  const share = (): KeysData => ({ asked, task: { traffic, keys, thread: thread++ } });
  return measureThreads({ worker: WORKER, share }, run);
}

function measureOurs(run: KeyRun): Promise<Counts> {
  const { rate } = run.traffic;
  const buckets = KeyedTokenBucket.create({ rate, burst: KEY_BURST, capacity: run.keys });
  return measureLocal(buckets.handle, run);
}

/** As many threads own the keys as there are that ask for them. */
async function measureShards(run: KeyRun): Promise<Counts> {
  const { traffic, keys, threads } = run;
  const owners = Array.from({ length: threads }, () => new Worker(SHARD));
  let thread = 0;
  const share = (): ShardData => {
    const ports = owners.map((owner): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      owner.postMessage({ port: port1, rate: traffic.rate }, [port1]);
      return port2;
    });
    return { ports, task: { traffic, keys, thread: thread++ } };
  };
  const transfer = ({ ports }: ShardData) => [...ports];
  const counts = await measureThreads({ worker: SHARD_CLIENT, share, transfer }, run);
  await Promise.all(owners.map((owner) => owner.terminate()));
  return counts;
}

function measureFlexibleCluster({ traffic, keys, ...run }: KeyRun): Promise<Counts> {
  // It sets timers, which are limited to 24 days.
  const rate = Math.max(traffic.rate, KEY_BURST / 1e6);
  const load = { name: traffic.name, rate, burst: KEY_BURST, initial: KEY_BURST, admits: true };
  return measureCluster({ ...run, load }, { traffic, keys });
}

const ALL = Number.POSITIVE_INFINITY;

export const OURS: KeyPeer = {
  ...{ name: 'zerotime', mostThreads: ALL, isLimiter: true, measure: measureOurs },
};
export const MAP: KeyPeer = {
  ...{ name: 'Map.get', mostThreads: 1, isLimiter: false },
  measure: (run) => measureLocal('map', run),
};
export const KEY_PEERS: readonly KeyPeer[] = [
  OURS,
  MAP,
  {
    ...{ name: 'rate-limiter-flexible, memory', mostThreads: 1, isLimiter: true },
    measure: (run) => measureLocal('flexible', run),
  },
  {
    ...{ name: 'rate-limiter-flexible, cluster', mostThreads: ALL, isLimiter: true },
    measure: measureFlexibleCluster,
  },
  {
    ...{ name: 'sharded Map by message, 64 in flight', mostThreads: ALL, isLimiter: true },
    measure: measureShards,
  },
];
