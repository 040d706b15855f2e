import { parentPort, workerData } from 'node:worker_threads';
import { loadModules, NONE, withMutant } from './engine.ts';
import type { Scene } from './scene.ts';
import { type Fate, Trial } from './trial.ts';

/** What a thread is started with. All threads take their mutants from one list. */
export interface Work {
  readonly scenes: readonly Scene[];
  /** Mutants, and the scenes that come by each. */
  readonly mutants: readonly (readonly [number: number, scenes: readonly number[]])[];
  /** How many mutants are taken. */
  readonly taken: Int32Array;
}

/** What became of a mutant. */
export interface Verdict {
  readonly number: number;
  readonly fate: Fate;
}

const { scenes, mutants, taken } = workerData as Work; // of main.ts
const trial = new Trial(withMutant(loadModules('plain'), NONE));
const mutated = loadModules('mutated');
while (true) {
  const next = mutants[Atomics.add(taken, 0, 1)];
  if (next === undefined) break;
  const [number, indices] = next;
  const reaching = indices.flatMap((index) => scenes[index] ?? []);
  const verdict: Verdict = { number, fate: trial.fateOf(withMutant(mutated, number), reaching) };
  parentPort?.postMessage(verdict);
}
