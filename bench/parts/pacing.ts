import { LeakyBucket } from '../../src/index.ts';
import { durations, shownPercentiles } from '../percentiles.ts';
import type { Section } from '../section.ts';
import type { Settings } from '../settings.ts';

const RATE = 1000;
const INTERVAL_US = 1e6 / RATE;
const NS_PER_PERCENT = (INTERVAL_US * 1000) / 100;
const AIM_PERCENT = 1;

/** Waits for consecutive slots and compares their distances with the interval. */
async function measurePace(
  name: string,
  waitOnce: (pace: LeakyBucket) => Promise<unknown> | boolean,
  ms: number,
): Promise<string[]> {
  const pace = LeakyBucket.create({ rate: RATE });
  const errors = durations();
  await waitOnce(pace);
  const startUs = pace.clock.now();
  let lastUs = startUs;
  let slots = 0;
  while (lastUs - startUs < ms * 1000) {
    const waited = waitOnce(pace);
    if (typeof waited !== 'boolean') await waited;
    const nowUs = pace.clock.now();
    errors.recordValue(Math.round(Math.abs(nowUs - lastUs - INTERVAL_US) * 1000));
    lastUs = nowUs;
    slots++;
  }
  const rate = (slots / (lastUs - startUs)) * 1e6;
  return [name, ...shownPercentiles(errors, NS_PER_PERCENT, 2), rate.toFixed(2)];
}

/** How even strict pacing is. */
export async function benchPacing(settings: Settings): Promise<Section> {
  const strict = { strict: true };
  const rows = [
    await measurePace('waitSync, strict', (pace) => pace.waitSync(1, strict), settings.pacingMs),
    await measurePace('wait, strict', (pace) => pace.wait(1, strict), settings.pacingMs),
  ];
  return {
    title: 'Pacing',
    text: `A \`LeakyBucket\` of ${RATE}/s: by how much the interval between two slots differs from
${INTERVAL_US / 1000} ms, in percent.`,
    head: ['way', 'p50', 'p99', 'max', 'slots', 'achieved, 1/s'],
    rows,
    aims: rows.map(([way = '', , p99 = '']) => ({
      measure: `${way}: error of the interval at ${RATE}/s, p99`,
      measured: `${p99} %`,
      aim: `at most ${AIM_PERCENT} %`,
    })),
  };
}
