import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The root of the repository, relative to dist/bench. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Ignored by git, and emptied by `npm ci`. */
const CACHE = join(ROOT, 'node_modules/.cache/node-versions');

/** A Node.js binary and its environment. */
export interface NodeVersion {
  /** As it reports itself: `v22.1.0`. */
  readonly version: string;
  readonly binary: string;
  /** An environment in which `node` is this binary, also for child processes. */
  readonly env: NodeJS.ProcessEnv;
}

async function versionOf(binary: string): Promise<string> {
  return (await run(binary, ['--version'])).stdout.trim();
}

/** Installs the newest release of a major version; the npm package contains only the binary. */
async function fetchNode(major: number, folder: string): Promise<void> {
  const name = `node-${process.platform}-${process.arch}@${major}`;
  await mkdir(CACHE, { recursive: true });
  const fresh = await mkdtemp(`${folder}-`);
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'];
  try {
    await run('npm', ['install', '--prefix', fresh, ...options, name], { cwd: fresh });
    // Others may install it at the same time, and have been faster.
    await rename(fresh, folder).catch(() => undefined);
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string };
    const reason = /^npm error code (.+)$/m.exec(stderr)?.[1] ?? message;
    throw new Error(`npm install ${name}, which brings it, failed: ${reason}`, { cause: error });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Finds the Node.js of a major version in the cache, or installs it from the npm registry. */
export async function findNode(major: number): Promise<NodeVersion> {
  const folder = join(CACHE, `${major}`);
  const modules = join(folder, 'node_modules');
  const binary = join(modules, `node-${process.platform}-${process.arch}`, 'bin/node');
  const cached = await versionOf(binary).catch(() => undefined);
  if (cached === undefined) await fetchNode(major, folder);
  const version = cached ?? (await versionOf(binary));
  if (!version.startsWith(`v${major}.`)) {
    throw new Error(`${binary} should be Node ${major}, but is ${version}`);
  }
  const PATH = [dirname(binary), process.env['PATH']].join(delimiter);
  return { version, binary, env: { ...process.env, PATH } };
}
