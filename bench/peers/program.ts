import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Counts, Peer, Prepared, Run } from './peer.ts';

const execute = promisify(execFile);

// Relative to dist/bench/peers.
const SOURCES = new URL('../../../bench/native/', import.meta.url);
const BUILT = new URL('../native/', import.meta.url);

/** A program in another language: bench/native. */
interface Program {
  /** Path of the source below bench/native. */
  readonly source: string;
  /** Name of the binary. */
  readonly name: string;
  readonly compiler: string;
  /** Arguments of the compiler. */
  readonly words: (source: string, program: string) => readonly string[];
  readonly versionWords: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Matches the compiler's error for a missing library. */
  readonly libraryMissing?: RegExp;
  readonly install: string;
}

function pathOf({ name }: Program): string {
  return fileURLToPath(new URL(name, BUILT));
}

/** Builds the program if its compiler and libraries are installed. */
async function build(program: Program): Promise<Prepared> {
  const { compiler, words, versionWords, environment, libraryMissing, install } = program;
  const source = fileURLToPath(new URL(program.source, SOURCES));
  const env = { ...process.env, ...environment };
  await mkdir(BUILT, { recursive: true });
  try {
    await execute(compiler, words(source, pathOf(program)), { env });
    const { stdout } = await execute(compiler, versionWords);
    return { state: 'ready', versions: [stdout.split('\n', 1).join('')] };
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string | number; stderr?: string };
    if (code === 'ENOENT') return { state: 'missing', what: compiler, install };
    const [library] = libraryMissing?.exec(stderr) ?? [];
    if (library === undefined) throw error;
    return { state: 'missing', what: library, install };
  }
}

/** Runs the binary, which prints its counts as JSON. */
async function measureProgram(
  program: Program,
  { load, threads, warmUpMs, measureMs }: Run,
  ...first: readonly string[]
): Promise<Counts> {
  const { rate, burst, initial } = load;
  const words = [threads, rate, burst, initial, warmUpMs, measureMs].map(String);
  const { stdout } = await execute(pathOf(program), [...first, ...words]);
  return JSON.parse(stdout);
}

const LOOP: Program = {
  source: 'loop.cpp',
  name: 'loop',
  compiler: 'g++',
  words: (source, program) => ['-std=c++20', '-O2', '-pthread', source, '-o', program],
  versionWords: ['--version'],
  install: 'apt-get install g++',
};

/** The same loop in C++, in its own process: bench/native/loop.cpp. */
export const cpp: Peer = {
  name: 'C++ loop',
  mostThreads: Number.POSITIVE_INFINITY,
  prepare: () => build(LOOP),
  measure: (run) => measureProgram(LOOP, run),
};

/** The folder in which Debian's packages install Go sources. */
const GOPATH = '/usr/share/gocode';

const GO: Program = {
  source: 'go/limiters.go',
  name: 'go-limiters',
  compiler: 'go',
  words: (source, program) => ['build', '-o', program, source],
  versionWords: ['version'],
  environment: { GO111MODULE: 'off', GOPATH },
  libraryMissing: /package "[^"]*"/,
  install:
    'apt-get install --no-install-recommends golang-go golang-golang-x-time-dev golang-github-juju-ratelimit-dev',
};

function limiter(name: string, word: string): Peer {
  return {
    name,
    mostThreads: Number.POSITIVE_INFINITY,
    prepare: () => build(GO),
    measure: (run) => measureProgram(GO, run, word),
  };
}

/** `Allow` of golang.org/x/time/rate, in its own process: bench/native/go. */
export const goRate = limiter('Go x/time/rate', 'rate');
/** `TakeAvailable` of github.com/juju/ratelimit. */
export const goJuju = limiter('Go juju/ratelimit', 'juju');
