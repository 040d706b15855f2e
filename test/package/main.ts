import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { findNode } from '../../bench/node-version.ts';
import { RedisServer } from '../integrations/redis/server.ts';
import { SEED } from '../support/random.ts';
import { BUNDLERS, type BundleSize, bundleWithEach } from './bundlers.ts';
import { COMPILERS, compileWithEach, installedAs } from './compilers.ts';
import { DRIVE, install } from './installed.ts';
import { OLD_PEERS, type OldPeer } from './old-peers.ts';
import { PEERS, type PeerCase } from './peers.ts';
import { Project } from './project.ts';
import { measureStartUp, type StartUp } from './start-up.ts';

// Installs the packed package into empty projects and uses it there: alone, on every Node.js, with
// every compiler, bundler and peer. `--write` writes the sizes of the bundles and what an import costs a
// worker to docs/package.md; `--only TEXT` leaves out what does not have TEXT in its name; with
// `--sample 3`, it tries one in three of the compilers and of the peers, others each time.

/** From dist/test/package, where this runs. */
const PAGE = fileURLToPath(new URL('../../../docs/package.md', import.meta.url));
const SIZES = tableAfter('sizes');
const START_UP = tableAfter('start-up');
const MAJORS = [20, 22, 24, 26];

const packed = install();
const tarball = join(packed.folder, 'zerotime-0.1.0.tgz');
let failures = 0;
const {
  only = '',
  sample = '1',
  write = false,
} = parseArgs({
  options: { only: { type: 'string' }, sample: { type: 'string' }, write: { type: 'boolean' } },
}).values;
const stride = Number(sample);
if (!Number.isInteger(stride) || stride < 1)
  throw new RangeError(`--sample must be a whole number from 1: ${sample}`);

function drawn<One>(all: readonly One[]): One[] {
  return all.filter((_, i) => (i + SEED) % stride === 0);
}

/** The table of the page between this mark and the next end. */
function tableAfter(mark: string): RegExp {
  return new RegExp(`(?<=<!-- ${mark} -->\\n\\n)[\\s\\S]*?(?=\\n\\n<!-- end -->)`);
}

/** Prints a table, and writes it to the page if asked to. */
function show(table: string, where: RegExp): void {
  console.log(table);
  if (!write) return;
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(where, table));
}

async function attempt(name: string, run: () => Promise<void>): Promise<void> {
  if (!name.includes(only)) return;
  try {
    await run();
    console.log(`passed  ${name}`);
  } catch (error) {
    failures++;
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Runs in a project that is removed afterwards. */
async function inProject(packages: readonly string[], use: (project: Project) => Promise<void>) {
  const project = await Project.with(tarball, ...packages);
  try {
    await use(project);
  } finally {
    project.remove();
  }
}

function expectText(got: string, wanted: string): void {
  if (got !== wanted) throw new Error(`got ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}

async function testInstalls(): Promise<void> {
  await attempt('installed alone: one package', () =>
    inProject([], async (project) => {
      const tree = await project.run('npm', ['ls', '--omit=dev', '--all', '--parseable']);
      expectText(`${tree.trim().split('\n').length - 1}`, '1');
    }),
  );

  await attempt('published as it is: npm corrects nothing', async () => {
    // Nobody listens at that address: a dry run needs no registry.
    const flags = ['--dry-run', '--ignore-scripts', '--fetch-retries=0'];
    const publish = ['publish', ...flags, '--registry', 'http://127.0.0.1:9'];
    const { status, stderr } = spawnSync('npm', publish, {
      cwd: packed.zerotime,
      encoding: 'utf8',
    });
    const corrected = stderr
      .split('\n')
      .filter((line) => /warn publish (?!.*logged in)/.test(line));
    expectText(`${status} ${corrected.join(' ')}`, '0 ');
  });

  await attempt('import and require on every Node.js', () =>
    inProject([], async (project) => {
      const use = 'console.log(TokenBucket.create({ rate: 1, burst: 3 }).consumeOrDrain(5));';
      project.write('use.mjs', `import { TokenBucket } from 'zerotime';\n${use}`);
      project.write('use.cjs', `const { TokenBucket } = require('zerotime');\n${use}`);
      for (const major of MAJORS) {
        const { binary } = await findNode(major);
        for (const file of ['use.mjs', 'use.cjs'])
          expectText(await project.run(binary, [file]), '3\n');
      }
    }),
  );
}

/** The threads of `zerotime/load` are files of the package, and import a module of the user. */
async function testDrive(): Promise<void> {
  await attempt('zerotime/load on every Node.js', () =>
    inProject([], async (project) => {
      const [file = ''] = DRIVE.files.map(({ name, text }) => project.write(name, text));
      for (const major of MAJORS) {
        const { binary } = await findNode(major);
        expectText(await project.run(binary, [file]), DRIVE.printed);
      }
    }),
  );
}

async function testTypes(): Promise<void> {
  const compilers = drawn(COMPILERS);
  await attempt('types, without the types of Node.js and with them', () =>
    inProject(compilers.map(installedAs), async (project) => {
      for await (const tried of compileWithEach(project, compilers))
        console.log(`        ${tried}`);
      await project.install('@types/node@20');
      // Those declare globals, which has nothing to do with where the compiler finds the package.
      for await (const tried of compileWithEach(project, compilers, ['nodenext'])) {
        console.log(`        ${tried}, with the types of Node.js`);
      }
    }),
  );
}

async function testBundles(): Promise<void> {
  const sizes: BundleSize[] = [];
  await attempt('bundles', () =>
    inProject(BUNDLERS, async (project) => {
      for await (const size of bundleWithEach(project)) sizes.push(size);
    }),
  );
  const table = markdownTable(
    [
      ['Bundle of', 'by', 'minified', 'with gzip'],
      ...sizes.map(({ program, bundler, minified, zipped }) => [
        program,
        bundler,
        `${(minified / 1000).toFixed(1)} kB`,
        `${(zipped / 1000).toFixed(1)} kB`,
      ]),
    ],
    { align: ['l', 'l', 'r', 'r'] },
  );
  if (sizes.length > 0) show(table, SIZES);
}

/** Reports the cost of an import; packed-file.test.ts bounds the bytes, and time decides nothing. */
async function testStartUp(): Promise<void> {
  await attempt('import in a worker', () =>
    inProject([], async (project) => {
      const cells = ({ what, importMs, heapBytes }: StartUp) => [
        what,
        `${importMs.toFixed(1)} ms`,
        `${(heapBytes / 1e6).toFixed(2)} MB`,
      ];
      const rows = (await measureStartUp(project)).map(cells);
      const header = ['First import of', 'time, median of 20', 'heap'];
      show(markdownTable([header, ...rows], { align: ['l', 'r', 'r'] }), START_UP);
    }),
  );
}

async function testPeer({ packages, program, node }: PeerCase, redisUrl: string): Promise<void> {
  await attempt(`beside ${packages.join(' ')}`, () =>
    inProject(packages, async (project) => {
      project.write('use.mjs', program);
      const env = { ...process.env, REDIS_URL: redisUrl, KEY: packages.join(' ') };
      const binary = node === undefined ? process.execPath : (await findNode(node)).binary;
      expectText(await project.run(binary, ['use.mjs'], env), 'ok\n');
    }),
  );
}

/** npm installs zerotime, the core works, and the entry point says what it needs. */
async function testOldPeer({ packages, program, message }: OldPeer): Promise<void> {
  await attempt(`beside the old ${packages.join(' ')}`, () =>
    inProject(packages, async (project) => {
      project.write('use.mjs', program);
      const printed = await project.run(process.execPath, ['use.mjs']);
      expectText(printed, `3\nERR_PEER_VERSION ${message}\n`);
    }),
  );
}

async function testPeers(): Promise<void> {
  const server = await RedisServer.start();
  const left = [
    ...drawn(PEERS).map((peer) => () => testPeer(peer, server.url)),
    ...drawn(OLD_PEERS).map((peer) => () => testOldPeer(peer)),
  ].values();
  const lane = async () => {
    for (const test of left) await test();
  };
  await Promise.all([lane(), lane()]);
  await server.stop();
}

// Half of the work is installing, which waits for the registry.
await Promise.all([testTypes(), testInstalls().then(testDrive).then(testBundles), testPeers()]);
await testStartUp();
if (stride > 1) console.log(`one peer in ${stride}; to try the same again: ZEROTIME_SEED=${SEED}`);
rmSync(packed.folder, { recursive: true });
console.log(failures === 0 ? 'all passed' : `${failures} FAILED`);
if (failures > 0) process.exitCode = 1;
