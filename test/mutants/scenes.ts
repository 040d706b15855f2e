import { Random } from '../support/random.ts';
import { newMemory, type Open } from './engine.ts';
import { Recorder } from './recorder.ts';
import type { Scene } from './scene.ts';
import { arrivalsScene } from './scenes/arrivals.ts';
import { bucketScene } from './scenes/bucket.ts';
import { keyedScene } from './scenes/keyed.ts';
import { limitSetScene } from './scenes/limit-set.ts';
import { semaphoreScene } from './scenes/semaphore.ts';
import { siphashScene } from './scenes/siphash.ts';
import { sometimesScene, windowScene } from './scenes/window.ts';

type Play = (recorder: Recorder, random: Random, calls: number) => void;

/** How many of each kind there are, of how many calls. */
export const SCENES: Readonly<
  Record<string, readonly [scenes: number, calls: number, play: Play]>
> = {
  bucket: [60, 60, (...all) => bucketScene({ changes: 24, damage: 100, isExtreme: false }, ...all)],
  'changing bucket': [
    40,
    40,
    (...all) => bucketScene({ changes: 4, damage: 60, isExtreme: false }, ...all),
  ],
  'extreme bucket': [
    60,
    50,
    (...all) => bucketScene({ changes: 3, damage: 200, isExtreme: true }, ...all),
  ],
  'damaged bucket': [
    30,
    40,
    (...all) => bucketScene({ changes: 6, damage: 3, isExtreme: false }, ...all),
  ],
  'limit set': [
    80,
    60,
    (...all) =>
      limitSetScene(
        { fill: 'late', changes: 20, isCrowded: false, damage: 30, hasKeys: false },
        ...all,
      ),
  ],
  'changing limit set': [
    100,
    40,
    (...all) =>
      limitSetScene(
        { fill: 'soon', changes: 4, isCrowded: false, damage: 30, hasKeys: false },
        ...all,
      ),
  ],
  'fixed window': [40, 60, (...all) => windowScene('fixed-window', ...all)],
  'sliding window': [50, 60, (...all) => windowScene('sliding-window', ...all)],
  'sliding log': [110, 60, (...all) => windowScene('sliding-log', ...all)],
  sometimes: [30, 50, sometimesScene],
  keyed: [60, 80, (...all) => keyedScene({ homes: 'any', share: 3, fill: 'any' }, ...all)],
  'crowded keyed': [
    40,
    80,
    (...all) => keyedScene({ homes: 'one', share: 3, fill: 'late' }, ...all),
  ],
  'rushed keyed': [
    120,
    120,
    (...all) => keyedScene({ homes: 'one', share: 0.5, fill: 'soon' }, ...all),
  ],
  'keyed limit set': [
    80,
    80,
    (...all) =>
      limitSetScene(
        { fill: 'late', changes: 20, isCrowded: false, damage: 25, hasKeys: true },
        ...all,
      ),
  ],
  'rushed keyed limit set': [
    120,
    120,
    (...all) =>
      limitSetScene(
        { fill: 'soon', changes: 30, isCrowded: false, damage: 25, hasKeys: true },
        ...all,
      ),
  ],
  'changing keyed limit set': [
    60,
    60,
    (...all) =>
      limitSetScene(
        { fill: 'late', changes: 4, isCrowded: false, damage: 25, hasKeys: true },
        ...all,
      ),
  ],
  'crowded keyed limit set': [
    40,
    60,
    (...all) =>
      limitSetScene(
        { fill: 'late', changes: 20, isCrowded: true, damage: 25, hasKeys: true },
        ...all,
      ),
  ],
  'damaged keyed limit set': [
    60,
    60,
    (...all) =>
      limitSetScene(
        { fill: 'late', changes: 20, isCrowded: false, damage: 2, hasKeys: true },
        ...all,
      ),
  ],
  semaphore: [150, 60, semaphoreScene],
  arrivals: [60, 40, arrivalsScene],
  siphash: [40, 1, siphashScene],
  'siphash in parts': [40, 2, siphashScene],
};

/** Tables of more keys and limits, for targets: mutants need none of them. */
export const LARGE_SCENES: typeof SCENES = {
  'large keyed': [
    10,
    400,
    (...all) => keyedScene({ homes: 'any', share: 3, fill: 'any', capacity: 200 }, ...all),
  ],
  'large keyed limit set': [
    10,
    400,
    (...all) =>
      limitSetScene(
        {
          ...{ fill: 'late', changes: 20, isCrowded: false, damage: 100, hasKeys: true },
          size: { capacity: 16, limits: 8 },
        },
        ...all,
      ),
  ],
};

/** The scenes of each kind of limiter, by its handle. */
export const SCENES_OF: Readonly<Record<string, readonly string[]>> = {
  'token-bucket': ['bucket', 'changing bucket', 'extreme bucket', 'damaged bucket'],
  'leaky-bucket': ['bucket', 'changing bucket', 'extreme bucket'],
  'limit-set': ['limit set', 'changing limit set'],
  'fixed-window': ['fixed window'],
  'sliding-window': ['sliding window'],
  'sliding-log': ['sliding log'],
  'keyed-token-bucket': ['keyed', 'crowded keyed', 'rushed keyed'],
  'keyed-fixed-window': ['keyed', 'crowded keyed', 'rushed keyed'],
  'keyed-limit-set': ['keyed limit set', 'changing keyed limit set', 'damaged keyed limit set'],
};

/** Scenes of a kind, the same ones for the same seed: a share of them, or longer ones. */
export function recordKind(
  kind: string,
  engines: Open,
  seed: number,
  { share, length, isHostile } = { share: 1, length: 1, isHostile: true },
): Scene[] {
  const [scenes, calls, play] = SCENES[kind] ?? LARGE_SCENES[kind] ?? [];
  if (play === undefined || calls === undefined) throw new Error(`there are no ${kind} scenes`);
  const recorder = new Recorder(engines, newMemory(), isHostile);
  return Array.from({ length: Math.ceil(share * (scenes ?? 0)) }, (_, i): Scene => {
    play(recorder, new Random(seed + i), calls * length);
    const scene = recorder.scene(`${kind} ${i}`);
    if (scene === undefined) throw new Error(`${kind} ${i} calls nothing`);
    return scene;
  });
}

/** All scenes. */
export function recordScenes(engines: Open, seed: number): Scene[] {
  return Object.keys(SCENES).flatMap((kind) => recordKind(kind, engines, seed));
}
