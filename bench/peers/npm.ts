import { createRequire } from 'node:module';
import type { NpmData, NpmName } from '../workers/npm.ts';
import type { Peer, Prepared } from './peer.ts';
import { measureThreads } from './worker-threads.ts';

const require = createRequire(import.meta.url);
const WORKER = new URL('../workers/npm.js', import.meta.url);

/** A package and its version, from its package.json. */
export function versionOf(name: string): string {
  // Packages that don't export package.json still have it beside or above their main module.
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return `${name} ${require(`${folder}/${name}/package.json`).version}`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new Error(`${name} is not installed`);
}

/** Reports the installed version. */
export async function prepareNpm(name: string): Promise<Prepared> {
  return { state: 'ready', versions: [versionOf(name)] };
}

/** A limiter from npm with state in a single thread, where `worker` calls it. */
function limiter(title: string, name: NpmName): Peer {
  return {
    name: title,
    mostThreads: 1,
    prepare: () => prepareNpm(name),
    measure: (run) =>
      measureThreads({ worker: WORKER, share: (): NpmData => ({ name, load: run.load }) }, run),
  };
}

export const npmLimiter = limiter('npm limiter', 'limiter');
export const flexibleMemory = limiter('rate-limiter-flexible, memory', 'rate-limiter-flexible');
export const bottleneck = limiter('bottleneck', 'bottleneck');
