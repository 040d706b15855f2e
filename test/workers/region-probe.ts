import { KeyedTokenBucket, Region, TokenBucket } from '../../src/index.ts';
import { isShared, webAssembly } from '../../src/memory/shared-memory.ts';

// Runs in its own process: keeps very many regions alive, and reports how they were made.

/** What a process with many regions can still do. */
export interface ManyRegions {
  readonly regions: number;
  /** How many of them have a memory for WebAssembly. */
  readonly ofWebAssembly: number;
  /** How many buckets gave a wrong answer. */
  readonly wrong: number;
  /** Whether others can get memory for WebAssembly. */
  readonly hasRoom: boolean;
  /** The longest that one step took: of the clock, and of processors in all threads. */
  readonly longestMs: number;
  readonly longestCpuMs: number;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const LIMIT = { rate: 1e-3, burst: 2 };
const MAKE = {
  regions: () => ({ memory: Region.create().handle.memory, bucket: undefined }),
  buckets: () => {
    const bucket = TokenBucket.create({ ...LIMIT, region: Region.create() });
    return { memory: bucket.handle.memory, bucket };
  },
  tables: () => {
    const table = KeyedTokenBucket.create({ ...LIMIT, capacity: 500, region: Region.create() });
    return { memory: table.handle.memory, bucket: table.for('ann') };
  },
} as const;

const [kind, count] = process.argv.slice(2);
const make = MAKE[kind as keyof typeof MAKE];
let [longestMs, longestCpuMs, ofWebAssembly, wrong] = [0, 0, 0, 0];
const made: ReturnType<typeof make>[] = [];
for (let i = 0; i < Number(count); i++) {
  const [startMs, startCpuMs] = [performance.now(), cpuMs()];
  const one = make();
  if (one.bucket !== undefined && !one.bucket.tryConsume(2)) wrong++;
  made.push(one);
  longestCpuMs = Math.max(longestCpuMs, cpuMs() - startCpuMs);
  longestMs = Math.max(longestMs, performance.now() - startMs);
}
for (const { memory, bucket } of made) {
  if (!isShared(memory)) ofWebAssembly++;
  if (bucket?.tryConsume()) wrong++;
}
let hasRoom = true;
try {
  if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
  new webAssembly.Memory({ initial: 1, maximum: 65_536, shared: true });
} catch {
  hasRoom = false;
}
const report: ManyRegions = {
  ...{ regions: made.length, ofWebAssembly, wrong, hasRoom, longestMs, longestCpuMs },
};
console.log(JSON.stringify(report));
