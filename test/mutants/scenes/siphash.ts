import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';

type Hash = (size: number, length: number, isFirst: number, isLast: number, ...key: number[]) => void;

/** Messages of all lengths, some in two parts. */
export function siphashScene(recorder: Recorder, random: Random, lengths: number): void {
  const hash = recorder.engine('siphash', 0)['hash'] as Hash;
  const message = new Uint8Array(recorder.memory.buffer, 0, 1024);
  const scribble = () => {
    for (let at = 0; at < 64; at++) message[at] = random.bits();
  };
  for (let length = 0; length < lengths; length++) {
    const key = [random.bits(), random.bits(), random.bits(), random.bits()];
    scribble();
    hash(length % 64, length, 1, 1, ...key);
    const first = length & 56;
    hash(first, length, 1, 0, ...key);
    scribble();
    hash(length - first, length, 0, 1, ...key);
  }
}
