import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findNode } from '../../bench/node-version.ts';
import type { Project } from './project.ts';

/** What the first import costs a new thread: medians over the threads. */
export interface StartUp {
  readonly what: string;
  readonly importMs: number;
  readonly heapBytes: number;
}

const THREADS = 20;

/** A Node.js with a compile cache, which 22.1 was the first to have. */
const WITH_CACHE = 24;

/** Imports each module in threads of its own, in turn. The heap is measured after collection. */
const PROGRAM = `
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const THREAD = \`
const { getHeapStatistics } = require('node:v8');
const { runInNewContext } = require('node:vm');
const { parentPort, workerData } = require('node:worker_threads');
const collect = runInNewContext('gc');
function heapUsed() {
  collect();
  return getHeapStatistics().used_heap_size;
}
(async () => {
  const before = heapUsed();
  const startMs = performance.now();
  await import(workerData);
  const importMs = performance.now() - startMs;
  parentPort.postMessage({ importMs, heapBytes: heapUsed() - before });
})();
\`;
const modules = process.argv.slice(2).map((what) => ({ what, samples: [] }));
for (let thread = 0; thread < ${THREADS}; thread++) {
  for (const { what, samples } of modules) {
    const worker = new Worker(THREAD, { eval: true, workerData: what });
    samples.push((await once(worker, 'message'))[0]);
    await worker.terminate();
  }
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const of = (samples, field) => median(samples.map((sample) => sample[field]));
console.log(JSON.stringify(modules.map(({ what, samples }) => (
  { what, importMs: of(samples, 'importMs'), heapBytes: of(samples, 'heapBytes') }
))));
`;

/**
 * Measures the import of the main entry point in a worker, beside that of an empty module: with this
 * Node.js, then with one that can keep compiled code on disk, without and with that cache.
 */
export async function measureStartUp(project: Project): Promise<readonly StartUp[]> {
  project.write('start-up.mjs', PROGRAM);
  // The cost of the module loader itself, which a thread starts with its first import.
  const empty = pathToFileURL(project.write('empty.mjs', '')).href;
  const entry = await project.run(process.execPath, [
    '--input-type=module',
    '--eval',
    "process.stdout.write(import.meta.resolve('zerotime'))",
  ]);
  const measure = async (binary: string, on: string, env = process.env): Promise<StartUp[]> => {
    const printed = await project.run(binary, ['start-up.mjs', entry, empty], env);
    const [zerotime, nothing] = JSON.parse(printed) as [StartUp, StartUp];
    return [
      { ...zerotime, what: `zerotime, ${on}` },
      { ...nothing, what: `an empty module, ${on}` },
    ];
  };
  const { version, binary } = await findNode(WITH_CACHE);
  const on = `Node.js ${version.slice(1).split('.', 1)[0]}`;
  const cached = { ...process.env, NODE_COMPILE_CACHE: join(project.folder, 'compiled') };
  // The first process fills the cache.
  await measure(binary, on, cached);
  return [
    ...(await measure(process.execPath, `Node.js ${process.versions.node.split('.', 1)[0]}`)),
    ...(await measure(binary, on)),
    ...(await measure(binary, `${on} with a compile cache`, cached)),
  ];
}
