import { LeakyBucket, systemClock, TickerClock } from '../../src/index.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { durations, shownPercentiles } from '../spread.ts';

const NS_PER_US = 1000;

interface Measured {
  readonly row: readonly string[];
  readonly aims: readonly AimRow[];
}

/** The percentiles, rate and load of something that is done again and again for `ms`. */
async function repeat(
  ms: number,
  step: (record: (us: number) => void) => Promise<void> | void,
): Promise<{ shown: string[]; rate: string; load: number }> {
  const late = durations();
  const record = (us: number) => late.recordValue(Math.round(us * NS_PER_US));
  const before = process.cpuUsage();
  const startUs = systemClock.now();
  let nowUs = startUs;
  while (nowUs - startUs < ms * 1000) {
    const done = step(record);
    if (done !== undefined) await done;
    nowUs = systemClock.now();
  }
  const spentUs = nowUs - startUs;
  const { user, system } = process.cpuUsage(before);
  return {
    shown: shownPercentiles(late, NS_PER_US, 1),
    rate: ((late.totalCount / spentUs) * 1e6).toFixed(2),
    load: (100 * (user + system)) / spentUs,
  };
}

function measuredOf(
  name: string,
  { shown, rate, load }: Awaited<ReturnType<typeof repeat>>,
  mostUs: readonly [p50: number, p99: number] | undefined,
  mostLoad?: number,
): Measured {
  const [p50 = '', p99 = ''] = shown;
  const aims: AimRow[] = [];
  if (mostUs !== undefined) {
    const [most50, most99] = mostUs;
    aims.push({
      measure: `${name}: p50 and p99`,
      measured: `${p50} and ${p99} us`,
      aim: `at most ${most50} and ${most99} us`,
    });
  }
  if (mostLoad !== undefined) {
    aims.push({
      measure: `${name}: processor time`,
      measured: `${load.toFixed(1)} %`,
      aim: `at most ${mostLoad} %`,
    });
  }
  return { row: [name, ...shown, rate, load.toFixed(1)], aims };
}

/** Blocks for `waitUs` again and again. */
async function blocking(waitUs: number, ms: number): Promise<Measured> {
  const measured = await repeat(ms, (record) => {
    const dueUs = systemClock.now() + waitUs;
    systemClock.sleepSync(dueUs);
    record(systemClock.now() - dueUs);
  });
  return measuredOf(`waitSync of ${waitUs} us, late`, measured, [15, 60]);
}

const WAITS_PER_S = 100;

/** Sleeps for `waitUs`, a hundred times a second. */
async function sleeping(waitUs: number, precise: boolean, ms: number): Promise<Measured> {
  const measured = await repeat(ms, async (record) => {
    const startUs = systemClock.now();
    await systemClock.sleep(startUs + waitUs, { precise });
    record(systemClock.now() - startUs - waitUs);
    const restUs = 1e6 / WAITS_PER_S - waitUs;
    if (restUs > 0) await systemClock.sleep(systemClock.now() + restUs, { precise: false });
  });
  const name = `wait of ${waitUs} us${precise ? '' : ', precise: false'}, late`;
  return precise ? measuredOf(name, measured, [60, 400], 2) : measuredOf(name, measured, undefined);
}

/** Waits for consecutive slots, and compares their distances with the interval. */
async function pacing(
  way: string,
  rate: number,
  mostPercent: number,
  waitOnce: (pace: LeakyBucket) => Promise<unknown> | boolean,
  ms: number,
): Promise<Measured> {
  const pace = LeakyBucket.create({ rate });
  const intervalUs = 1e6 / rate;
  await waitOnce(pace);
  let lastUs = systemClock.now();
  const measured = await repeat(ms, async (record) => {
    const waited = waitOnce(pace);
    if (typeof waited !== 'boolean') await waited;
    const nowUs = systemClock.now();
    record(Math.abs(nowUs - lastUs - intervalUs));
    lastUs = nowUs;
  });
  const { row } = measuredOf(`${way} at ${rate}/s, error of the interval`, measured, undefined);
  const percent = (100 * Number(measured.shown[1])) / intervalUs;
  const measure = `${way}: error of the interval at ${rate}/s, p99`;
  const aim = `at most ${mostPercent} %`;
  return { row, aims: [{ measure, measured: `${percent.toFixed(2)} %`, aim }] };
}

/** How old the readings of a ticker clock are. */
async function staleness(periodMs: number, ms: number): Promise<Measured> {
  const clock = await TickerClock.create({ periodMs });
  try {
    const measured = await repeat(ms, (record) => {
      const readUs = clock.now();
      record(Math.max(0, systemClock.now() - readUs));
    });
    const { row } = measuredOf(`TickerClock, periodMs ${periodMs}, age`, measured, undefined);
    return { row, aims: [] };
  } finally {
    clock.dispose();
  }
}

/** How exactly waits end, how even strict pacing is, and how old ticker clocks are. */
export async function benchPacing({ pacingMs }: Settings): Promise<Section> {
  const strict = { strict: true };
  const ms = pacingMs / 2;
  // The timer thread starts with the first wait.
  await sleeping(300, true, ms);
  const measured: Measured[] = [];
  for (const us of [100, 1000]) measured.push(await blocking(us, ms));
  for (const [rate, most] of [
    [1000, 1],
    [10_000, 5],
  ] as const) {
    measured.push(
      await pacing('waitSync, strict', rate, most, (pace) => pace.waitSync(1, strict), pacingMs),
    );
  }
  measured.push(await pacing('wait, strict', 1000, 1, (pace) => pace.wait(1, strict), pacingMs));
  for (const precise of [true, false]) {
    for (const us of [100, 300, 1000, 10_000]) measured.push(await sleeping(us, precise, ms));
  }
  for (const periodMs of [1, 0.1, 0]) measured.push(await staleness(periodMs, ms / 10));
  return {
    title: 'Pacing',
    text: `Microseconds: how late waits end, by how much the interval between two slots of a
\`LeakyBucket\` differs from 1 / rate, and how old the readings of a \`TickerClock\` are. Async waits
come ${WAITS_PER_S} times a second, each after a pause on a timer. Processor time is that of all threads
of the process.`,
    head: ['what', 'p50', 'p99', 'max', 'samples', 'achieved, 1/s', 'processor, %'],
    rows: measured.map(({ row }) => [...row]),
    aims: measured.flatMap(({ aims }) => aims),
  };
}
