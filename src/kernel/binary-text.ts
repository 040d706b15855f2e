/** The character of the byte 0, and the number of bytes that need no prefix. */
const FIRST = 40;
const RADIX = 87;

/** Decodes a binary that build/binary-text.mjs wrote as text. */
export function bytesOf(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  let size = 0;
  let base = 0;
  for (let i = 0; i < bytes.length; i++) {
    const code = bytes[i] as number; // i is within the array
    if (code < FIRST) {
      base = (code - 32) * RADIX;
    } else {
      bytes[size++] = base + code - FIRST;
      base = 0;
    }
  }
  return bytes.subarray(0, size);
}
