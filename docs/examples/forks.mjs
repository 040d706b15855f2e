// docs/examples/forks.mjs: several processes of one program, started by another.
import { fork } from 'node:child_process';
import { once } from 'node:events';

const { PROCESSES = '3' } = process.env;
const jobs = Array.from({ length: Number(PROCESSES) }, () =>
  fork(new URL('job.mjs', import.meta.url)),
);
await Promise.all(jobs.map((job) => once(job, 'exit')));
