/**
 * Length of a task's data: as JSON, plus its typed arrays. The data itself may hold secrets.
 *
 * @returns 0 without data, null if it has no JSON form, such as a `bigint`
 */
export function dataBytesOf(data: unknown): number | null {
  if (data === undefined) return 0;
  let binary = 0;
  try {
    const text = JSON.stringify({ data }, function (this: Record<string, unknown>, key, value) {
      // `value` of a Buffer is already a list of numbers.
      const raw = this[key];
      if (!ArrayBuffer.isView(raw)) return value;
      binary += raw.byteLength;
      return 0;
    });
    return binary + Buffer.byteLength(text) - '{"data":}'.length;
  } catch {
    return null;
  }
}
