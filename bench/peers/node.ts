import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findNode } from '../node-version.ts';
import type { Peer } from './peer.ts';

const execute = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('../workers/node-calls.js', import.meta.url));

/** This library on another Node.js, the newest release of its major version, in its own process. */
export function onNode(major: number): Peer {
  return {
    name: `Node.js ${major}`,
    mostThreads: Number.POSITIVE_INFINITY,
    prepare: async () => {
      try {
        const { version } = await findNode(major);
        return { state: 'ready', versions: [`Node.js ${version}`] };
      } catch (error) {
        const install = `npm install node-${process.platform}-${process.arch}@${major}`;
        return { state: 'missing', what: (error as Error).message, install };
      }
    },
    measure: async (run) => {
      const { binary, env } = await findNode(major);
      return JSON.parse((await execute(binary, [SCRIPT, JSON.stringify(run)], { env })).stdout);
    },
  };
}
