// The task of a worker: halves an image of 8-bit RGB pixels until it is at most 64 pixels wide, and
// returns it as a PPM file.

/**
 * @param {{ width: number, height: number, pixels: Uint8Array }} image
 * @returns {Uint8Array}
 */
export default function thumbnail({ width, height, pixels }) {
  while (width > 64) {
    ({ width, height, pixels } = halve({ width, height, pixels }));
  }
  const header = new TextEncoder().encode(`P6\n${width} ${height}\n255\n`);
  const file = new Uint8Array(header.length + pixels.length);
  file.set(header);
  file.set(pixels, header.length);
  return file;
}

/** Each new pixel is the mean of four. @param {{ width: number, height: number, pixels: Uint8Array }} image */
function halve({ width, height, pixels }) {
  const half = { width: width >> 1, height: height >> 1 };
  const smaller = new Uint8Array(half.width * half.height * 3);
  /** @param {number} x @param {number} y @param {number} channel */
  const at = (x, y, channel) => pixels[(y * width + x) * 3 + channel] ?? 0;
  for (let y = 0, to = 0; y < half.height; y++) {
    for (let x = 0; x < half.width; x++) {
      for (let channel = 0; channel < 3; channel++) {
        const above = at(2 * x, 2 * y, channel) + at(2 * x + 1, 2 * y, channel);
        const below = at(2 * x, 2 * y + 1, channel) + at(2 * x + 1, 2 * y + 1, channel);
        smaller[to++] = (above + below) >> 2;
      }
    }
  }
  return { ...half, pixels: smaller };
}
