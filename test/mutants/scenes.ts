import { Random } from '../support/random.ts';
import { type ModuleName, newMemory } from './engine.ts';
import { Recorder } from './recorder.ts';
import type { Scene } from './scene.ts';
import { bucketScene } from './scenes/bucket.ts';
import { keyedScene } from './scenes/keyed.ts';
import { siphashScene } from './scenes/siphash.ts';
import { sometimesScene, windowScene } from './scenes/window.ts';

type Play = (recorder: Recorder, random: Random, calls: number) => void;

/** How many of each kind there are, of how many calls. */
const KINDS: Readonly<Record<string, readonly [scenes: number, calls: number, play: Play]>> = {
  bucket: [80, 100, bucketScene],
  'fixed window': [40, 80, (...all) => windowScene('fixed-window', ...all)],
  'sliding window': [50, 80, (...all) => windowScene('sliding-window', ...all)],
  'sliding log': [50, 80, (...all) => windowScene('sliding-log', ...all)],
  sometimes: [40, 60, sometimesScene],
  keyed: [100, 150, keyedScene],
  siphash: [1, 80, siphashScene],
};

/** All scenes, the same ones for the same seed. */
export function recordScenes(modules: ReadonlyMap<ModuleName, object>, seed: number): Scene[] {
  const recorder = new Recorder(modules, newMemory());
  return Object.entries(KINDS).flatMap(([kind, [scenes, calls, play]]) =>
    Array.from({ length: scenes }, (_, i): Scene => {
      play(recorder, new Random(seed + i), calls);
      const scene = recorder.scene(`${kind} ${i}`);
      if (scene === undefined) throw new Error(`${kind} ${i} calls nothing`);
      return scene;
    }),
  );
}
