import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as zerotime from '../../src/index.ts';
import * as redis from '../../src/integrations/redis.ts';
import { LACKS_REDIS, RedisServer } from '../integrations/redis/server.ts';
import { commentExamplesOf, type Example, examplesOf } from './fences.ts';
import { CHECKS, instrumented } from './instrument.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/**
 * In the build folder, so that `zerotime` resolves to the package itself through its own exports.
 */
const SCRATCH = join(ROOT, 'dist/examples');
/** Examples that share a server, a file or a port, or measure time, run one by one. */
const APART = /REDIS_URL|zerotime\/host|listen\(|writeFile|wait|setTimeout|sleep|drive|\bnow\(/;
const CHECKS_FILE = join(SCRATCH, 'checks.mjs');
const COMPILER: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
};
/** Variables that the examples in comments use without declaring them. */
const SCENERY = `
declare global {
  const client: import('zerotime/redis').RedisClient;
  const limiter: import('zerotime').Limiter;
  const response: import('node:http').ServerResponse;
  const rows: unknown[];
  const url: URL;
  const user: string;
  function send(row: unknown): void;
  function serve(): void;
}
export {};
`;

const pages = ['README.md', ...filesIn('docs', '.md')];
const shown = pages.flatMap((page) => examplesOf(page, read(page)));
/** Blocks that start with a comment naming a file; they repeat that file. */
const listings = shown.flatMap((example) => {
  const [, path] =
    /^\/\/ ((?:docs\/examples|test\/support)\/[\w-]+\.m?[jt]s):/.exec(example.code) ?? [];
  return path === undefined ? [] : [{ path, example }];
});
const examples = shown.filter((example) =>
  listings.every((listing) => listing.example !== example),
);
const comments = filesIn('src', '.ts').flatMap((file) => commentExamplesOf(join(ROOT, file)));

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => join(folder, name))
    .sort();
}

function place({ page, line }: Example): string {
  return `${page.startsWith(ROOT) ? relative(ROOT, page) : page}:${line}`;
}

/** Node.js 20 loads only JavaScript in workers: pages name those files `.mjs`. */
function fileOf(example: Example): string {
  const ending = example.code.includes('isMainThread') ? '.mjs' : '.mts';
  return join(SCRATCH, place(example).replaceAll(/[^\w.]/g, '-') + ending);
}

/** Adds the imports that an example in a comment leaves out. */
function completed({ code }: Example): string {
  const used = (entry: object) =>
    Object.keys(entry).filter((name) => new RegExp(`\\b${name}[.(]`).test(code));
  const workers = ['Worker', 'workerData'].filter((name) => code.includes(name));
  return [
    `import { ${used(zerotime).join(', ')} } from 'zerotime';`,
    `import { ${used(redis).join(', ')} } from 'zerotime/redis';`,
    `import { ${workers.join(', ')} } from 'node:worker_threads';`,
    code,
    'export {};',
  ].join('\n');
}

/** Errors of the compiler, each with its file. */
function complaints(files: readonly string[]): string[] {
  const program = ts.createProgram(files, {
    ...COMPILER,
    lib: ['lib.es2023.d.ts', 'lib.es2024.sharedmemory.d.ts'],
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    strict: true,
    allowJs: true,
    checkJs: true,
    noEmit: true,
    skipLibCheck: true,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file && file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file && relative(ROOT, file.fileName)}, line ${line} of the code: ${text}`;
  });
}

/** Writes an example that checks itself, in JavaScript: tsx takes half a second for each. */
function runnable(example: Example): string {
  const file = fileOf(example);
  const { outputText } = ts.transpileModule(
    instrumented(example, pathToFileURL(CHECKS_FILE).href),
    { compilerOptions: COMPILER, fileName: file },
  );
  const script = file.replace(/m[jt]s$/, 'run.mjs');
  writeFileSync(script, outputText);
  return script;
}

let server: RedisServer | undefined;
beforeAll(async () => {
  if (!LACKS_REDIS) server = await RedisServer.start();
  mkdirSync(SCRATCH, { recursive: true });
  writeFileSync(CHECKS_FILE, CHECKS);
});
afterAll(async () => {
  rmSync(SCRATCH, { recursive: true });
  await server?.stop();
});

describe('the examples of the documentation', () => {
  test('exist on each page that must have some', () => {
    const with_ = new Set(examples.map(({ page }) => page));
    expect([...with_]).toEqual(expect.arrayContaining(['README.md', 'docs/guide.md']));
    expect(comments.length).toBeGreaterThanOrEqual(7);
  });

  test('compile under strict, and so do those in comments', () => {
    const files = new Map(examples.map((e) => [fileOf(e), `${e.code}\nexport {};`]));
    for (const e of comments) files.set(fileOf(e).replace(/mjs$/, 'mts'), completed(e));
    files.set(join(SCRATCH, 'scenery.d.ts'), SCENERY);
    for (const [file, code] of files) writeFileSync(file, code);
    const listed = ['docs/examples', 'examples', 'test/docs/programs']
      .flatMap((folder) => filesIn(folder, '.mjs'))
      .map((file) => join(ROOT, file));
    expect(complaints([...files.keys(), ...listed])).toEqual([]);
  });

  const cases = examples.map((example) => ({ at: place(example), example }));
  const isApart = ({ example }: (typeof cases)[number]) => APART.test(example.code);
  const PRINTS = '$at prints and throws what it says';
  const prints = async ({ example }: (typeof cases)[number]) => {
    if (LACKS_REDIS && example.code.includes('REDIS_URL')) return;
    const options = { env: { ...process.env, REDIS_URL: server?.url }, timeout: 60_000 };
    const args = [runnable(example)];
    const { stdout } = await promisify(execFile)(process.execPath, args, options);
    expect(stdout).toBe(example.output);
  };
  // Each starts a process, and waits more than it works.
  test.concurrent.each(cases.filter((one) => !isApart(one)))(PRINTS, prints);
  test.each(cases.filter(isApart))(PRINTS, prints);
});

test('the files of docs/examples and the algorithm are shown unchanged, each on a page', () => {
  const files = [...filesIn('docs/examples', '.mjs'), 'test/support/plain-bucket.ts'];
  expect(listings.map(({ path }) => path).sort()).toEqual(files);
  for (const { path, example } of listings) expect(`${example.code}\n`).toBe(read(path));
});
