import { loadModules, NONE, newMemory, withMutant } from './engine.ts';
import { Player } from './player.ts';
import type { Scene } from './scene.ts';

/** What scenes come by. */
export interface Trace {
  /** By the number of a mutant, the scenes that come by its place. */
  readonly scenesOf: ReadonlyMap<number, readonly number[]>;
  /** Twice the numbers of branches, and 1 more where a condition held. */
  readonly ways: ReadonlySet<number>;
}

/** Plays the scenes with an engine that tells where it comes by. */
export function trace(scenes: readonly Scene[]): Trace {
  const modules = loadModules('traced');
  const memory = newMemory();
  const scenesOf = new Map<number, number[]>();
  const ways = new Set<number>();
  let current = 0;
  const reached = (mutant: number) => {
    const known = scenesOf.get(mutant);
    if (known === undefined) scenesOf.set(mutant, [current]);
    else if (known.at(-1) !== current) known.push(current);
  };
  const saw = (branch: number, value: number) => {
    ways.add(2 * branch + value);
  };
  const player = new Player(withMutant(modules, NONE), memory, { reached, saw });
  for (const [index, scene] of scenes.entries()) {
    current = index;
    player.begin(scene);
    for (const call of scene.calls) player.play(call);
  }
  return { scenesOf, ways };
}
