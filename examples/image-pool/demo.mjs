// A batch of 200 images of one customer is queued. Then another customer uploads ten.
import { imagePool } from './pool.mjs';

const LIMITS = { rate: 200, burst: 20, threads: 2 };
const BATCH = 200;
const UPLOADS = 10;

/** A gradient of 512 x 512 pixels. @param {number} seed */
function image(seed) {
  const side = 512;
  const pixels = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * seed) >> 6);
  return { width: side, height: side, pixels };
}

const pool = imagePool(LIMITS);
const picture = image(7);
let ended = 0;
let lastUpload = 0;
let bytes = 0;

/** @param {string} customer @param {boolean} isUpload */
async function submit(customer, isUpload) {
  const file = await pool.run({ ...picture, customer, isUpload });
  ended++;
  bytes += file.length;
  if (isUpload) lastUpload = ended;
}

const startMs = performance.now();
const batch = Array.from({ length: BATCH }, () => submit('acme', false));
const uploads = Array.from({ length: UPLOADS }, () => submit('umbrella', true));
await Promise.all([...batch, ...uploads]);
const seconds = (performance.now() - startMs) / 1000;
await pool.close();

const most = LIMITS.burst + LIMITS.rate * seconds;
console.log(
  `${ended} thumbnails of ${bytes / ended} bytes in ${seconds.toFixed(3)} s, at most ${most.toFixed(1)}`,
);
console.log(`the last upload was number ${lastUpload}, behind ${BATCH} of the batch`);
