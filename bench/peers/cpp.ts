import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Counts, Missing, Peer, Run } from './peer.ts';

const execute = promisify(execFile);

// Seen from dist/bench/peers.
const SOURCE = fileURLToPath(new URL('../../../bench/native/loop.cpp', import.meta.url));
const BUILT = new URL('../native/', import.meta.url);
const PROGRAM = fileURLToPath(new URL('loop', BUILT));

async function build(): Promise<Missing | undefined> {
  await mkdir(BUILT, { recursive: true });
  try {
    await execute('g++', ['-std=c++20', '-O2', '-pthread', SOURCE, '-o', PROGRAM]);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { what: 'g++', install: 'apt-get install g++' };
  }
}

async function measure({ load, threads, warmUpMs, measureMs }: Run): Promise<Counts> {
  const { rate, burst, initial } = load;
  const words = [threads, rate, burst, initial, warmUpMs, measureMs].map(String);
  const { stdout } = await execute(PROGRAM, words);
  return JSON.parse(stdout);
}

/** The same loop in C++, in a process of its own: bench/native/loop.cpp. */
export const cpp: Peer = {
  name: 'C++ loop',
  prepare: build,
  supports: () => true,
  measure,
};
