import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { draw } from '../../docs/pictures/draw.ts';
import { drawSampling } from '../../docs/pictures/draw-sampling.ts';
import { makeTraffic, playSampling, SAMPLING_SCENES } from '../../docs/pictures/sampling.ts';
import { samplingTable, TABLE } from '../../docs/pictures/sampling-table.ts';
import { play, SCENES } from '../../docs/pictures/scenes.ts';
import {
  ADAPTING,
  drawAdapting,
  drawSimulation,
  SIMULATION,
} from '../../docs/pictures/simulation.ts';

const IMAGES = new URL('../../docs/images/', import.meta.url);

function read(page: string): string {
  return readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
}

/** The pictures of a page of docs. */
function shownOn(page: string): string[] {
  return [...read(page).matchAll(/\(images\/(.*)\.svg\)/g)].map(([, name = '']) => name);
}

test.each(SCENES)('the picture of $name matches the limiter (npm run docs:pictures)', (scene) => {
  const committed = readFileSync(new URL(`${scene.name}.svg`, IMAGES), 'utf8');
  expect(draw(scene.title, play(scene))).toBe(committed);
});

// docs/choosing.md: "Ann stays below that even in the overload"
test('in the picture of a keyed bucket, Ann is never refused and Bob is', () => {
  const outcomes = SCENES.filter(({ name }) => name === 'keyed-token-bucket').flatMap(play);
  const refused = (isAnn: boolean) =>
    outcomes.filter((one, call) => (call % 8 === 0) === isAnn && one.admittedMs === undefined);
  expect(refused(true)).toEqual([]);
  expect(refused(false)).not.toEqual([]);
});

test.each([
  [SIMULATION, drawSimulation],
  [ADAPTING, drawAdapting],
])("the picture %s matches the command's output (npm run docs:pictures)", async (name, drawn) => {
  expect(await drawn()).toBe(readFileSync(new URL(`${name}.svg`, IMAGES), 'utf8'));
});

test('the pictures and the table of samplers match the samplers (npm run docs:pictures)', () => {
  const traffic = makeTraffic();
  const sampled = SAMPLING_SCENES.map((scene) => ({
    scene,
    result: playSampling(scene, traffic),
  }));
  for (const { scene, result } of sampled) {
    const committed = readFileSync(new URL(`${scene.name}.svg`, IMAGES), 'utf8');
    expect(drawSampling(scene, result)).toBe(committed);
  }
  expect(TABLE.exec(read('sampling.md'))?.[0]).toBe(samplingTable(sampled));
});

test('every picture is generated, and shown on a page', () => {
  const choosing = shownOn('choosing.md');
  const measured = shownOn('performance.md');
  const simulated = ['simulate.md', 'how-many-at-once.md'].flatMap(shownOn);
  const sampled = shownOn('sampling.md');
  expect(simulated).toEqual([SIMULATION, ADAPTING]);
  expect(sampled).toEqual(SAMPLING_SCENES.map(({ name }) => name));
  expect(choosing.sort()).toEqual(SCENES.map(({ name }) => name).sort());
  expect(readdirSync(IMAGES).sort()).toEqual(
    [...choosing, ...measured, ...simulated, ...sampled].map((name) => `${name}.svg`).sort(),
  );
});
