import type { Run } from '../peers/peer.ts';
import { zerotime } from '../peers/zerotime.ts';
import { PLAIN } from '../variants.ts';

// Measures one run on the Node.js that runs this, and prints its counts.

const run: Run = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await zerotime(PLAIN).measure(run)));
