import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock, TokenBucket } from '../../src/index.ts';
import { throttleWebStream } from '../../src/integrations/fetch.ts';
import { type ByteLimiter, throttleStream } from '../../src/integrations/streams.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';

const RATE = 1_000_000;
const BURST = RATE / 10;
const CHUNKS = [1_000, 16_384, 65_536, 1_500_000];

type Pass = (chunks: readonly Buffer[], limiter: ByteLimiter) => Promise<number>;

const throughNode: Pass = async (chunks, limiter) => {
  let bytes = 0;
  const sink = new Writable({
    write(chunk: Buffer, _, done) {
      bytes += chunk.length;
      done();
    },
  });
  await pipeline(Readable.from(chunks), throttleStream(limiter), sink);
  return bytes;
};

const throughWeb: Pass = async (chunks, limiter) => {
  let bytes = 0;
  const source = Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array>;
  for await (const chunk of source.pipeThrough(throttleWebStream(limiter))) bytes += chunk.length;
  return bytes;
};

async function secondsOf(pass: Pass, total: number, size: number): Promise<number> {
  const count = Math.ceil(total / size);
  const chunks = Array.from({ length: count }, (_, i) =>
    Buffer.alloc(Math.min(size, total - i * size)),
  );
  const fromUs = systemClock.now();
  const limiter = TokenBucket.create({ rate: RATE, burst: BURST, initial: 0 });
  if ((await pass(chunks, limiter)) !== total) throw new Error('bytes were lost');
  return (systemClock.now() - fromUs) / 1e6;
}

/** How exactly throttled streams keep their bandwidth. */
export async function benchStreams({ rounds, pacingMs }: Settings): Promise<Section> {
  const total = (RATE * pacingMs * 0.3) / 1000;
  const rows: string[][] = [];
  for (const size of CHUNKS) {
    for (const [name, pass] of [
      ['throttleStream', throughNode],
      ['throttleWebStream', throughWeb],
    ] as const) {
      const seconds: number[] = [];
      for (let round = 0; round < rounds; round++) seconds.push(await secondsOf(pass, total, size));
      seconds.sort((a, b) => a - b);
      const shown = [seconds[0], seconds[Math.floor(rounds / 2)], seconds.at(-1)];
      rows.push([name, String(size), ...shown.map((value = Number.NaN) => value.toFixed(4))]);
    }
  }
  return {
    title: 'Throttled streams',
    text: `${total} bytes at ${RATE} bytes a second, from a bucket of burst ${BURST} that starts empty:
${total / RATE} s by the schedule. Seconds, in ${rounds} rounds.`,
    head: ['stream', 'bytes in a chunk', 'least', 'median', 'most'],
    rows,
  };
}
