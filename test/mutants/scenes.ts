import type { WindowKind } from '../../src/kernel/window/limit.ts';
import { Random } from '../support/random.ts';
import { newMemory, type Open } from './engine.ts';
import { Recorder } from './recorder.ts';
import type { Scene } from './scene.ts';
import { arrivalsScene } from './scenes/arrivals.ts';
import { bucketScene, type Mood } from './scenes/bucket.ts';
import { semaphoreScene } from './scenes/semaphore.ts';
import { siphashScene } from './scenes/siphash.ts';
import { type Crowd, tableScene } from './scenes/table.ts';
import { sometimesScene, windowScene } from './scenes/window.ts';

type Play = (recorder: Recorder, random: Random, calls: number) => void;

const bucket =
  (mood: Mood): Play =>
  (...all) =>
    bucketScene(mood, ...all);
const window =
  (kind: WindowKind): Play =>
  (...all) =>
    windowScene(kind, ...all);
const table =
  (crowd: Crowd): Play =>
  (...all) =>
    tableScene(crowd, ...all);

const KEYED = {
  of: 'keyed',
  homes: 'any',
  share: 3,
  fill: 'any',
  changes: 10,
  damage: 40,
} as const;
const SET = {
  of: 'limit set',
  homes: 'any',
  share: 1,
  fill: 'late',
  changes: 20,
  damage: 30,
} as const;
const KEYED_SET = { ...SET, of: 'keyed limit set', damage: 25 } as const;

/** How many of each kind there are, of how many calls. */
export const SCENES: Readonly<
  Record<string, readonly [scenes: number, calls: number, play: Play]>
> = {
  bucket: [60, 60, bucket({ changes: 24, damage: 100, isExtreme: false })],
  'changing bucket': [40, 40, bucket({ changes: 4, damage: 60, isExtreme: false })],
  'extreme bucket': [60, 50, bucket({ changes: 3, damage: 200, isExtreme: true })],
  'damaged bucket': [30, 40, bucket({ changes: 6, damage: 3, isExtreme: false })],
  'limit set': [80, 60, table(SET)],
  'changing limit set': [100, 40, table({ ...SET, fill: 'soon', changes: 4 })],
  'fixed window': [40, 60, window('fixed-window')],
  'sliding window': [50, 60, window('sliding-window')],
  'sliding log': [110, 60, window('sliding-log')],
  sometimes: [30, 50, sometimesScene],
  keyed: [60, 80, table(KEYED)],
  'crowded keyed': [40, 80, table({ ...KEYED, homes: 'one', fill: 'late' })],
  'rushed keyed': [120, 120, table({ ...KEYED, homes: 'one', share: 0.5, fill: 'soon' })],
  'damaged keyed': [60, 60, table({ ...KEYED, changes: 6, damage: 2 })],
  'keyed windows': [150, 80, table({ ...KEYED, share: 1, changes: 6, isWindow: true })],
  'keyed limit set': [80, 80, table(KEYED_SET)],
  'rushed keyed limit set': [120, 120, table({ ...KEYED_SET, fill: 'soon', changes: 30 })],
  'changing keyed limit set': [60, 60, table({ ...KEYED_SET, changes: 4 })],
  'crowded keyed limit set': [40, 60, table({ ...KEYED_SET, share: 3, isCrowded: true })],
  'forgetful keyed limit set': [80, 66, table({ ...KEYED_SET, isForgetful: true })],
  'damaged keyed limit set': [60, 60, table({ ...KEYED_SET, damage: 2 })],
  semaphore: [150, 60, semaphoreScene],
  arrivals: [60, 40, arrivalsScene],
  siphash: [40, 1, siphashScene],
  'siphash in parts': [40, 2, siphashScene],
};

/** Tables of more keys and limits, for targets: mutants need none of them. */
export const LARGE_SCENES: typeof SCENES = {
  'large keyed': [10, 400, table({ ...KEYED, size: { capacity: 200, limits: 1 } })],
  'large keyed limit set': [
    10,
    400,
    table({ ...KEYED_SET, damage: 100, size: { capacity: 16, limits: 8 } }),
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
  'keyed-token-bucket': ['keyed', 'crowded keyed', 'rushed keyed', 'damaged keyed'],
  'keyed-fixed-window': ['keyed windows'],
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
