import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
export function link(folder: string, name: string): void {
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
