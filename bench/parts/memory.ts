import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { MemoryRow } from '../memory-probe.ts';
import { versionOf } from '../peers/npm.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';

const execute = promisify(execFile);

const PROBE = fileURLToPath(new URL('../memory-probe.js', import.meta.url));

/** Maximum bytes of shared memory. */
const AIMS: Readonly<Record<string, number>> = {
  TokenBucket: 640,
  'KeyedTokenBucket, each key': 32,
};

function aimRow({ name, shared, heap }: MemoryRow): AimRow[] {
  const aim = AIMS[name];
  if (aim === undefined) return [];
  return [
    {
      measure: `${name}: bytes`,
      measured: `${shared} shared, ${heap} on the heap of a thread`,
      aim: `at most ${aim}`,
    },
  ];
}

/** The memory per limiter and per key. */
export async function benchMemory({ objects }: Settings): Promise<Section> {
  const { stdout } = await execute(process.execPath, ['--expose-gc', PROBE, String(objects)]);
  const rows: MemoryRow[] = JSON.parse(stdout);
  return {
    title: 'Memory',
    text: `Bytes of one limiter, or of one key, without counters: in shared memory, once for all threads, and
on the heap of each thread that holds it. The heap is measured as the growth over ${objects} of them,
after garbage collection. Peers are entirely on the heap of one thread.`,
    head: ['limiter', 'shared', 'heap'],
    rows: rows.map(({ name, shared, heap }) => [name, String(shared ?? ''), String(heap)]),
    aims: rows.flatMap(aimRow),
    versions: ['limiter', 'bottleneck', 'rate-limiter-flexible'].map(versionOf),
  };
}
