import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { draw } from '../../docs/pictures/draw.ts';
import { play, SCENES } from '../../docs/pictures/scenes.ts';

const IMAGES = new URL('../../docs/images/', import.meta.url);

/** The pictures of a page of docs. */
function shownOn(page: string): string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/\(images\/(.*)\.svg\)/g)].map(([, name = '']) => name);
}

test.each(SCENES)(
  'the picture of $name is what the limiter does (npm run docs:pictures)',
  (scene) => {
    const committed = readFileSync(new URL(`${scene.name}.svg`, IMAGES), 'utf8');
    expect(draw(scene.title, play(scene))).toBe(committed);
  },
);

test('every picture is drawn, and shown on a page', () => {
  const choosing = shownOn('choosing.md');
  const measured = shownOn('performance.md');
  expect(choosing.sort()).toEqual(SCENES.map(({ name }) => name).sort());
  expect(readdirSync(IMAGES).sort()).toEqual(
    [...choosing, ...measured].map((name) => `${name}.svg`).sort(),
  );
});
