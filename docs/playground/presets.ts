/** A set-up that shows one thing. */
export interface Preset {
  readonly title: string;
  /** What to see. */
  readonly look: string;
  /** As in a link, after `#`. */
  readonly hash: string;
}

export const PRESETS: readonly Preset[] = [
  {
    title: 'Burst, then steady',
    look: '40 requests come each second. The token bucket admits them all until its 60 tokens are spent, then 20 a second; the leaky bucket admits at most 20 a second from the start.',
    hash: 'limiter=token-bucket rate=20 burst=60&limiter=leaky-bucket rate=20 slack=0&traffic=constant rate=40',
  },
  {
    title: 'Four limiters, one traffic',
    look: 'The red lines differ: a fixed window may admit twice its limit where two windows meet, the others may not.',
    hash: 'limiter=fixed-window limit=30 intervalMs=1000&limiter=sliding-window limit=30 intervalMs=1000&limiter=sliding-log limit=30 intervalMs=1000&limiter=token-bucket rate=30 burst=30',
  },
  {
    title: 'Callers that wait',
    look: 'More requests come than tokens. Below 0, tokens are promised to callers that wait up to 2 seconds; the rest is refused. Change the rate while they wait.',
    hash: 'limiter=token-bucket rate=20 burst=20&traffic=poisson rate=30&waitMs=2000',
  },
  {
    title: 'Two limits at once',
    look: 'Each rush is admitted at 30 a second until the 60 tokens of limit 2 are spent, then at 10. Change one limit while it runs: the other one holds.',
    hash: 'limiter=limit-set rate=30 burst=10 rate2=10 burst2=60&traffic=bursts size=160 everyMs=8000 overMs=4000',
  },
  {
    title: 'Eight workers, one limit',
    look: 'Stall or kill some of the workers: the limit holds, and the others take what they leave.',
    hash: 'limiter=sliding-log limit=50 intervalMs=1000&traffic=poisson rate=200&workers=8',
  },
  {
    title: 'Permits that follow a server',
    look: 'A server answers 16 calls at once, each in 40 ms on average; more calls queue in it. The permits above follow its latency, those below are always 100. Set the server to 8 in both: the latency of the first stays low.',
    hash: 'limiter=semaphore min=1 max=100 capacity=16 serviceMs=40&limiter=semaphore min=100 max=100 capacity=16 serviceMs=40&traffic=poisson rate=600',
  },
];
