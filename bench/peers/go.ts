import type { Peer } from './peer.ts';
import { build, measureProgram, type Program } from './program.ts';

/** The folder in which Debian's packages install Go sources. */
const GOPATH = '/usr/share/gocode';

const PROGRAM: Program = {
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
    prepare: () => build(PROGRAM),
    measure: (run) => measureProgram(PROGRAM, run, word),
  };
}

/** `Allow` of golang.org/x/time/rate, in its own process: bench/native/go. */
export const goRate = limiter('Go x/time/rate', 'rate');
/** `TakeAvailable` of github.com/juju/ratelimit. */
export const goJuju = limiter('Go juju/ratelimit', 'juju');
