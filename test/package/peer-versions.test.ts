import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OLDEST_PEERS } from '../../src/peers.ts';
import { type LinkedProject, linkedProject } from './installed.ts';

// The packages here are folders with a version: main.ts tests with real ones.

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const page = readFileSync(new URL('../../docs/package.md', import.meta.url), 'utf8');

let project: LinkedProject;
beforeAll(() => {
  project = linkedProject();
  project.write(
    'main.js',
    `import { TokenBucket } from 'zerotime';
    import { honoMiddleware } from 'zerotime/http';
    try {
      honoMiddleware({ limiter: TokenBucket.create({ rate: 1, burst: 1 }) });
      console.log('ok');
    } catch ({ name, code, message }) {
      console.log(name, code, message);
    }`,
  );
});
afterAll(() => project.remove());

function installed(version: string, folder = ''): void {
  const at = join(folder, 'node_modules/hono/package.json');
  project.write(at, JSON.stringify({ name: 'hono', version }));
}

const run = () => project.run(join(project.folder, 'main.js'));
const REFUSED = 'RateLimitError ERR_PEER_VERSION zerotime/http needs hono 4.0.0 or later, found';

test.each([
  ['3.99.99', `${REFUSED} 3.99.99`],
  ['0.4.1', `${REFUSED} 0.4.1`],
  ['4.0.0', 'ok'],
  ['4.0.0-rc.1', 'ok'],
  ['4.1', 'ok'],
  ['12.0.0', 'ok'],
])('with hono %s, its middleware says: %s', async (version, printed) => {
  installed(version);
  expect(await run()).toBe(`${printed}\n`);
});

test('a newer copy beside the main file is enough', async () => {
  installed('3.0.0');
  installed('4.5.0', 'workspace');
  project.write('workspace/main.js', readFileSync(join(project.folder, 'main.js'), 'utf8'));
  expect(await run()).toBe(`${REFUSED} 3.0.0\n`);
  expect(await project.run(join(project.folder, 'workspace/main.js'))).toBe('ok\n');
  installed('2.0.0', 'workspace');
  expect(await project.run(join(project.folder, 'workspace/main.js'))).toBe(
    `${REFUSED} 3.0.0 and 2.0.0\n`,
  );
});

test('a package whose version cannot be read is not refused', async () => {
  project.write('node_modules/hono/package.json', 'no JSON');
  expect(await run()).toBe('ok\n');
});

test('every peer is optional and takes any version, so that npm installs zerotime beside it', () => {
  const names = new Set(Object.values(OLDEST_PEERS).flatMap((peers) => Object.keys(peers)));
  const sorted = [...names].sort();
  expect(manifest.peerDependencies).toEqual(Object.fromEntries(sorted.map((name) => [name, '*'])));
  const optional = Object.fromEntries(sorted.map((name) => [name, { optional: true }]));
  expect(manifest.peerDependenciesMeta).toEqual(optional);
});

test('the page names the oldest version of each', () => {
  for (const [entry, peers] of Object.entries(OLDEST_PEERS)) {
    for (const [name, oldest] of Object.entries(peers)) {
      const short = oldest.replace(/(\.0)+$/, '') || '0';
      expect(page).toMatch(
        new RegExp(
          `^\\| (\`${entry}\`)? ?\\| ${name}(?:[,;][^|]*)? \\| (?:from )?${short.replaceAll('.', '\\.')}\\b`,
          'm',
        ),
      );
    }
  }
});
