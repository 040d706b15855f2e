import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Ends commands that hang. Others may wait for a processor: beside the tests, all of this is nice. */
const TIMEOUT_MS = 1_200_000;

/** What a command prints, or an error with all that it printed. */
async function runIn(
  cwd: string,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    return (await execute(program, args, { cwd, env, timeout: TIMEOUT_MS })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & Record<string, string>;
    throw new Error([message.split('\n', 1)[0], stdout, stderr].join('\n').slice(0, 2000));
  }
}

/** An empty project outside the repository, into which packages are installed from the registry. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'zerotime-project-'));

  static async with(...packages: readonly string[]): Promise<Project> {
    const project = new Project();
    project.write('package.json', JSON.stringify({ private: true, type: 'module' }));
    await project.install(...packages);
    return project;
  }

  async install(...packages: readonly string[]): Promise<void> {
    const flags = [
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--loglevel=error',
      '--prefer-offline',
    ];
    await this.run('npm', ['install', ...flags, ...packages]);
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  run(program: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
    return runIn(this.folder, program, args, env);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
