import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// Runs as a source and compiled.
const ROOT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../..' : '../../..', import.meta.url),
);

/** An empty project outside the repository, with the packed zerotime in its node_modules. */
export interface Installed {
  readonly folder: string;
  /** The folder of the package. */
  readonly zerotime: string;
  /** Paths of all its files, relative to it. */
  readonly files: readonly string[];
  /** Size of the packed file in bytes. */
  readonly packedBytes: number;
}

/** Packs and unpacks the build. */
export function install(): Installed {
  const folder = mkdtempSync(join(tmpdir(), 'zerotime-installed-'));
  const flags = ['--ignore-scripts', '--pack-destination', folder, '--json'];
  const packed = JSON.parse(
    execFileSync('npm', ['pack', ...flags], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }),
  ) as [{ filename: string; size: number }];
  const [{ filename, size }] = packed;
  const zerotime = join(folder, 'node_modules/zerotime');
  mkdirSync(zerotime, { recursive: true });
  execFileSync('tar', ['-xf', join(folder, filename), '-C', zerotime, '--strip-components=1']);
  const files = readdirSync(zerotime, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(zerotime.length + 1));
  return { folder, zerotime, files: files.sort(), packedBytes: size };
}

/** Links a package from the repository's node_modules into the project. */
function link(folder: string, name: string): void {
  const to = join(folder, 'node_modules', name);
  mkdirSync(dirname(to), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), to);
}

/** The size of these files in a compressed archive: what they contribute to the packed file. */
export function archivedBytes({ zerotime, folder }: Installed, files: readonly string[]): number {
  const copy = join(folder, 'archived');
  for (const file of files) cpSync(join(zerotime, file), join(copy, file));
  return execFileSync('tar', ['-czf', '-', '-C', copy, '.']).byteLength;
}

/** The peers of the integrations, and the types of Node.js. */
const LINKED = [
  'piscina',
  'tinypool',
  '@opentelemetry/api',
  'prom-client',
  'undici',
  '@types/node',
];

/** A project with the packed zerotime, and with links to packages of the repository. */
export interface LinkedProject extends Installed {
  /** Writes a file of the project, and returns its path. */
  write(name: string, text: string): string;
  /** What Node.js prints, called with these arguments. */
  run(...args: string[]): Promise<string>;
  remove(): void;
}

export function linkedProject(): LinkedProject {
  const installed = install();
  const { folder } = installed;
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  for (const name of LINKED) link(folder, name);
  write('package.json', JSON.stringify({ type: 'module', private: true }));
  return {
    ...installed,
    write,
    async run(...args) {
      const options = { cwd: folder, timeout: 60_000 };
      return (await promisify(execFile)(process.execPath, args, options)).stdout;
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** The files of a program that drives a module in threads, and what the first of them prints. */
export const DRIVE = {
  files: [
    {
      name: 'drive.mjs',
      text: `import { drive } from 'zerotime/load';
      const options = { task: new URL('./task.mjs', import.meta.url), threads: 2, durationMs: 200 };
      for (const rate of [100, Infinity]) {
        let result; // a busy machine may hold up a thread for all of its run
        do result = await drive({ ...options, rate }); while (result.calls.sent === 0);
        const { loop, errors, threads } = result;
        console.log(loop, errors[0]?.kind, threads.map(({ crash }) => crash));
      }`,
    },
    {
      name: 'task.mjs',
      text: 'export default ({ sequence }) => { if (sequence === 0) throw 1; };',
    },
  ],
  printed: 'open thrown number [ null, null ]\nclosed undefined [ null, null ]\n',
};
