import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { draw } from '../../docs/pictures/draw.ts';
import { play, SCENES } from '../../docs/pictures/scenes.ts';
import { drawSimulation, SIMULATION } from '../../docs/pictures/simulation.ts';

const IMAGES = new URL('../../docs/images/', import.meta.url);

/** The pictures of a page of docs. */
function shownOn(page: string): string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/\(images\/(.*)\.svg\)/g)].map(([, name = '']) => name);
}

test.each(SCENES)('the picture of $name matches the limiter (npm run docs:pictures)', (scene) => {
  const committed = readFileSync(new URL(`${scene.name}.svg`, IMAGES), 'utf8');
  expect(draw(scene.title, play(scene))).toBe(committed);
});

test("the picture of a simulation matches the command's output (npm run docs:pictures)", async () => {
  expect(await drawSimulation()).toBe(readFileSync(new URL(`${SIMULATION}.svg`, IMAGES), 'utf8'));
});

test('every picture is generated, and shown on a page', () => {
  const choosing = shownOn('choosing.md');
  const measured = shownOn('performance.md');
  const simulated = shownOn('simulate.md');
  expect(simulated).toEqual([SIMULATION]);
  expect(choosing.sort()).toEqual(SCENES.map(({ name }) => name).sort());
  expect(readdirSync(IMAGES).sort()).toEqual(
    [...choosing, ...measured, ...simulated].map((name) => `${name}.svg`).sort(),
  );
});
