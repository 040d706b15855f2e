import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const path = process.env['ZEROTIME_CHROMIUM'] ?? PLACES.find((place) => existsSync(place));
const isRequired = ['CI', 'ZEROTIME_CI'].some((name) => (process.env[name] ?? '') !== '');

/** Whether to skip the tests that need a browser: never in continuous integration. */
export const LACKS_BROWSER = path === undefined && !isRequired;
if (LACKS_BROWSER) {
  console.warn('NO BROWSER: reports are not tested. Install chromium, or set ZEROTIME_CHROMIUM.');
}

export function launchBrowser(): Promise<Browser> {
  if (path === undefined) throw new Error('no chromium: apt-get install chromium');
  // Its sandbox needs privileges that a container lacks.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
}
