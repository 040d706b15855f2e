import type { Project } from './project.ts';

/** From the oldest version supported to the newest. */
export const COMPILERS = ['5.0', '5.2', '5.4', '5.7', '5.9', '6.0', '7.0'];

/** The package of a compiler, under a name of its own. */
export function installedAs(version: string): string {
  return `ts${version}@npm:typescript@~${version}.0`;
}

type Resolution = keyof typeof RESOLUTIONS;
const RESOLUTIONS = {
  nodenext: ['--module', 'nodenext', '--moduleResolution', 'nodenext'],
  bundler: ['--module', 'esnext', '--moduleResolution', 'bundler'],
  node10: ['--module', 'esnext', '--moduleResolution', 'node'],
};
const ALL = ['nodenext', 'bundler', 'node10'] as const;
/** 7.0 has no moduleResolution node10; 6.0 requires an option that confirms it. */
const RESOLUTIONS_OF: Readonly<Record<string, readonly Resolution[]>> = {
  '7.0': ['nodenext', 'bundler'],
};
const EXTRA: Readonly<Record<string, readonly string[]>> = {
  '6.0': ['--ignoreDeprecations', '6.0'],
};
/** Without a peer's package its integration has no types. */
export const TYPED = `
import { type Limiter, TickerClock, TokenBucket, type TokenBucketOptions } from 'zerotime';
import { KeyedTokenBucket } from 'zerotime/keyed';
import { type DriveResult, drive } from 'zerotime/load';
import { RedisTokenBucket } from 'zerotime/redis';
const options: TokenBucketOptions = { rate: 10, burst: 5 };
export const limiter: Limiter = TokenBucket.create(options);
export const waited: Promise<{ readonly waitedMs: number }> = limiter.wait(1, { timeoutMs: 5 });
export const keyed: boolean = KeyedTokenBucket.create({ ...options, capacity: 10 }).tryConsume('a');
export const clock: Promise<TickerClock> = TickerClock.create();
export const redis: Function = RedisTokenBucket;
export const driven: Promise<DriveResult> = drive({ task: 'file:///a.mjs', rate: 5 });
// @ts-expect-error: a rate is a number
TokenBucket.create({ rate: '10', burst: 5 });
`;

/** Compiles a program of a user, declarations of libraries checked. Yields a name for each try. */
export async function* compileWithEach(
  project: Project,
  versions: readonly string[],
  resolutions: readonly Resolution[] = ALL,
): AsyncGenerator<string> {
  project.write('typed.ts', TYPED);
  for (const version of versions) {
    for (const name of RESOLUTIONS_OF[version] ?? ALL) {
      if (!resolutions.includes(name)) continue;
      const flags = [...RESOLUTIONS[name], ...(EXTRA[version] ?? [])];
      const common = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022'];
      const compiler = `node_modules/ts${version}/bin/tsc`;
      const all = [compiler, ...common, ...flags, 'typed.ts'];
      await project.run(process.execPath, all);
      yield `TypeScript ${version}, moduleResolution ${name}`;
    }
  }
}
