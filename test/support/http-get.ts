/** An answer's status, body, and fields about limits. */
export async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  const fields = Object.fromEntries(
    [...response.headers].filter(([name]) => /limit|retry|content-type/.test(name)),
  );
  return { status: response.status, body: await response.text(), fields };
}

/** The statuses of several requests, one after the other. */
export async function statuses(url: string, count: number): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) all.push((await get(url)).status);
  return all;
}
