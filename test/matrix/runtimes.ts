import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../bench/node-version.ts';

const run = promisify(execFile);
const CACHE = join(ROOT, 'node_modules/.cache/runtimes');

/** A JavaScript runtime other than Node.js, and how it runs a file. */
export interface Runtime {
  readonly name: string;
  readonly version: string;
  readonly binary: string;
  readonly args: readonly string[];
}

// The packages that hold only the binary, so that nothing has to run to install it.
const PACKAGES = {
  Bun: { package: '@oven/bun-linux-x64', binary: 'bin/bun', args: [] },
  Deno: { package: '@deno/linux-x64-glibc', binary: 'deno', args: ['run', '-A'] },
};

/** Finds each runtime in the cache, or installs its newest version from the npm registry. */
export async function findRuntimes(): Promise<Runtime[]> {
  await mkdir(CACHE, { recursive: true });
  const isCached = (await readdir(CACHE)).includes('node_modules');
  if (!isCached) {
    const names = Object.values(PACKAGES).map((each) => each.package);
    const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', '--prefix', CACHE, ...flags, ...names], { cwd: CACHE });
  }
  return Promise.all(
    Object.entries(PACKAGES).map(async ([name, { package: folder, binary: file, args }]) => {
      const binary = join(CACHE, 'node_modules', folder, file);
      const { stdout } = await run(binary, ['--version']);
      return { name, version: /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? '', binary, args };
    }),
  );
}
