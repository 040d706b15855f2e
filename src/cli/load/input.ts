import type { Command } from 'commander';
import { type ArrivalOptions, checkArrivals, readArrivals } from './arrival-options.ts';
import type { BodyOption } from './options.ts';

/** The input that a run reads before it starts. */
export interface RunInput {
  readonly body: Uint8Array | undefined;
  /** The instants of `--arrivals FILE`. */
  readonly instantsUs: Float64Array | undefined;
}

/** The options that name the input. */
interface InputOptions extends ArrivalOptions {
  readonly body?: BodyOption;
  readonly duration: number;
}

/**
 * Reads the input of a run; a promise only if reading takes time. Meanwhile an interrupt ends the
 * command at once, like any command that reads.
 */
export function runInput(given: InputOptions, command: Command): RunInput | Promise<RunInput> {
  checkArrivals(given, command);
  const { body, arrivals } = given;
  if (body !== '@-' && typeof arrivals === 'string') return { body, instantsUs: undefined };
  return read(given, command);
}

async function read(
  { body, arrivals, duration }: InputOptions,
  command: Command,
): Promise<RunInput> {
  return {
    body: await bodyOf(body, process.stdin),
    instantsUs:
      typeof arrivals === 'string'
        ? undefined
        : await readArrivals(arrivals.path, duration, command),
  };
}

/** Resolves the body option to the body. */
export async function bodyOf(
  option: BodyOption | undefined,
  stdin: AsyncIterable<Uint8Array>,
): Promise<Uint8Array | undefined> {
  if (option !== '@-') return option;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}
