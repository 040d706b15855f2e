import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';

type Hash = (
  size: number,
  length: number,
  isFirst: number,
  isLast: number,
  ...key: number[]
) => void;

/** A message, whole and in two parts. Only the last hash of a scene is compared. */
export function siphashScene(recorder: Recorder, random: Random, calls: number): void {
  const hash = recorder.engine('siphash', 0)['hash'] as Hash;
  const message = new Uint8Array(recorder.memory.buffer, 0, 64);
  const scribble = () => {
    for (const at of message.keys()) message[at] = random.bits();
  };
  const key = [random.bits(), random.bits(), random.bits(), random.bits()];
  const length = random.below(message.length);
  scribble();
  if (calls === 1) {
    hash(length, length, 1, 1, ...key);
  } else {
    hash(length & 56, length, 1, 0, ...key);
    scribble();
    hash(length & 7, length, 0, 1, ...key);
  }
}
