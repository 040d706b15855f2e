import type { Peer } from './peer.ts';
import { build, measureProgram, type Program } from './program.ts';

const PROGRAM: Program = {
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
  prepare: () => build(PROGRAM),
  measure: (run) => measureProgram(PROGRAM, run),
};
