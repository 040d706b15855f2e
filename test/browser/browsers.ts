import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Opens a page in a browser without a window. The returned function closes it. */
export type Open = (url: string) => Promise<() => Promise<void>>;

function opener(program: string, argsFor: (profile: string) => string[]): Open {
  return async (url) => {
    const profile = mkdtempSync(join(tmpdir(), 'zerotime-browser-'));
    const child = spawn(program, [...argsFor(profile), url], { stdio: 'ignore', detached: true });
    const ended = once(child, 'exit');
    return async () => {
      // With the processes that the browser started.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    };
  };
}

const CHROMIUM = process.env['ZEROTIME_CHROMIUM'] ?? '/usr/bin/chromium';
const FIREFOX = process.env['ZEROTIME_FIREFOX'] ?? '/usr/bin/firefox-esr';

/** The installed browsers, by name. */
export const BROWSERS: readonly (readonly [name: string, open: Open])[] = [
  existsSync(CHROMIUM) &&
    ([
      'Chromium',
      // Its sandbox needs privileges that a container lacks.
      opener(CHROMIUM, (profile) => [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        `--user-data-dir=${profile}`,
      ]),
    ] as const),
  existsSync(FIREFOX) &&
    (['Firefox', opener(FIREFOX, (profile) => ['--headless', '--profile', profile])] as const),
].filter((browser) => browser !== false);
