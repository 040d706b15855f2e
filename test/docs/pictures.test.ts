import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { draw } from '../../docs/pictures/draw.ts';
import { play, SCENES } from '../../docs/pictures/scenes.ts';

const IMAGES = new URL('../../docs/images/', import.meta.url);
const CHOOSING = new URL('../../docs/choosing.md', import.meta.url);

test.each(SCENES)(
  'the picture of $name is what the limiter does (npm run docs:pictures)',
  (scene) => {
    const committed = readFileSync(new URL(`${scene.name}.svg`, IMAGES), 'utf8');
    expect(draw(scene.title, play(scene))).toBe(committed);
  },
);

test('every picture is drawn, and shown on the page', () => {
  const page = readFileSync(CHOOSING, 'utf8');
  const shown = [...page.matchAll(/\(images\/(.*)\.svg\)/g)].map(([, name]) => name);
  expect(readdirSync(IMAGES).sort()).toEqual(SCENES.map(({ name }) => `${name}.svg`).sort());
  expect(shown.sort()).toEqual(SCENES.map(({ name }) => name).sort());
});
