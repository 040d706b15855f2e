// docs/examples/job.mjs: a program that any number of others run beside it, under one limit.
import { setTimeout } from 'node:timers/promises';
import { TokenBucket } from 'zerotime';
import { HostRegion } from 'zerotime/host';

const { REGION = 'jobs', RATE = '100', BURST = '10', SECONDS = '2' } = process.env;

const region = HostRegion.open({ path: REGION });
const bucket = TokenBucket.open(region, 'rows', { rate: Number(RATE), burst: Number(BURST) });
const end = performance.now() + Number(SECONDS) * 1000;
let rows = 0;
while (performance.now() < end) {
  if (bucket.tryConsume()) rows++;
  else await setTimeout(1);
}
console.log(rows);
