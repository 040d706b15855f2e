import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Installed, install, link } from './installed.ts';

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
