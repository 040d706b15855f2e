import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FITNESS, OPTIONS } from '../support/load-result.ts';
import { compare, RunFolder } from './recorded-runs.ts';

const runs = new RunFolder();

const BASE = runs.record('base.json');
const SAME = runs.record('same.json');
const [options, fitness] = [OPTIONS, FITNESS];

describe('zerotime compare', () => {
  it('compares arrivals at random, whatever their seeds, with no others', async () => {
    const [one = '', two = ''] = [1, 2].map((seed) =>
      runs.record(`seed${seed}.json`, {
        change: { options: { ...options, arrivals: { kind: 'poisson', seed } } },
      }),
    );
    expect((await compare(one, two)).code).toBe(0);
    expect((await compare(BASE, two)).stderr).toContain('arrivals: {"kind":"even"}');
  });

  it('refuses runs of different things unless that is allowed, and says what differs', async () => {
    const other = runs.record('other.json', {
      change: {
        url: 'http://elsewhere/',
        options: { ...options, rate: 3_000, threads: 4, durationMs: 2_000 },
      },
    });
    const { code, stdout, stderr } = await compare(BASE, other);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`url: http://example.com/ in ${BASE}; http://elsewhere/ in ${other}`);
    for (const name of ['rate: 2000', 'threads: 2', 'duration: 1000']) {
      expect(stderr).toContain(`  ${name} in ${BASE}`);
    }
    expect(stderr).toContain('--allow url,rate,threads,duration');
    const some = await compare(BASE, other, '--allow', 'url,rate');
    expect(some.code).toBe(1);
    expect(some.stderr).not.toContain('url:');
    const all = await compare(BASE, other, '--allow', 'url,rate,threads,duration');
    expect(all.code).toBe(0);
    expect(all.stdout).toMatch(/Differs +url: http/);
    const page = runs.at('differs.html');
    await compare(BASE, other, '--allow', 'url,rate,threads,duration', '--report', page);
    const text = readFileSync(page, 'utf8');
    const [differs, verdict] = ['<p class="note">Differs: url: http', '<p class="good">'];
    expect(text.indexOf(differs)).toBeGreaterThan(text.indexOf('<section class="verdict'));
    expect(text.indexOf(differs)).toBeLessThan(text.indexOf(verdict));
  });

  it('omits figures only where a side differs from the baseline', async () => {
    const fast = runs.record('fast.json', { change: { options: { ...options, rate: 3_000 } } });
    const json = runs.at('sides.json');
    await compare(BASE, SAME, fast, '--allow', 'rate', '--json', json);
    const { compared, allowed } = JSON.parse(readFileSync(json, 'utf8'));
    const names = compared.map(({ figures }: { figures: { name: string }[] }) =>
      figures.map(({ name }) => name).filter((name) => name === 'max' || name === 'rate'),
    );
    expect(names).toEqual([['max', 'rate'], []]);
    expect(allowed).toEqual([
      `rate: 2000 in ${BASE}, ${SAME}; 3000 in ${fast}; not compared: max, rate`,
    ]);
  });

  it('compares runs of embedded servers, whatever their ports', async () => {
    const [one, two] = ['1', '2'].map((port) =>
      runs.record(`port${port}.json`, {
        change: { url: `http://127.0.0.1:${port}/`, options: { ...options, url: undefined } },
      }),
    );
    expect((await compare(one ?? '', two ?? '')).code).toBe(0);
  });

  it('compares runs that sent other tokens, and says so', async () => {
    const [one = '', two = ''] = ['a', 'b'].map((token) =>
      runs.record(`token-${token}.json`, {
        change: { options: { ...options, headers: [['Authorization', `Bearer ${token}`]] } },
      }),
    );
    const { code, stdout } = await compare(one, two);
    expect(code).toBe(0);
    expect(stdout).toMatch(/secret headers: hash:[0-9a-f]{8} in/);
  });

  it('draws the maximum over time if a run is too short for p99', async () => {
    const short = runs.record('short.json', {
      edit: (data) => {
        const slots = data['latencyByTime'] as object[];
        data['latencyByTime'] = slots.map((slot) => ({ ...slot, p99Ms: null }));
      },
    });
    const page = runs.at('short.html');
    const titleOf = async (...files: string[]) => {
      await compare(...files, '--report', page);
      return /(?:p99|Maximum) from due to answered, by due time/.exec(
        readFileSync(page, 'utf8'),
      )?.[0];
    };
    expect(await titleOf(BASE, SAME)).toBe('p99 from due to answered, by due time');
    expect(await titleOf(BASE, short)).toBe('Maximum from due to answered, by due time');
  });

  it('compares calls of a task as well', async () => {
    const [one = '', two = ''] = ['1', '2'].map((name) =>
      runs.record(`calls${name}.json`, {
        edit: (data) => {
          data['url'] = 'file:///task.mjs';
          data['options'] = { ...(data['options'] as object), request: null, concurrency: 64 };
        },
      }),
    );
    expect((await compare(one, two)).code).toBe(0);
    expect((await compare(BASE, two)).stderr).toContain(
      `url: http://example.com/ in ${BASE}; file:///task.mjs`,
    );
  });

  it('tells what to mind: other versions, machines, and runs that measured badly', async () => {
    const odd = runs.record('odd.json', {
      change: {
        elapsedMs: 500,
        fitness: { ...fitness, fit: false, limits: [{ kind: 'samples', count: 3 }] },
      },
      edit: (data) => {
        data['node'] = 'v26.0.0';
        data['machine'] = { processor: 'Some processor', processors: 4 };
        data['latencyByTime'] = undefined;
        data['latencyDesignEffects'] = undefined;
        data['guarantee'] = { held: false };
      },
    });
    const { stdout } = await compare(BASE, odd);
    expect(stdout).toContain(`Node.js: ${process.version} in ${BASE}; v26.0.0 in ${odd}`);
    expect(stdout).toMatch(/machine: .*; Some processor, 4 in /);
    expect(stdout).toContain('the guarantee was broken; ended after 500 ms of 1000; not fit to');
    expect(stdout).toContain('older version: its requests are taken for independent');
    expect(stdout).toContain('not fit to measure: 3 responses are too few for p99');
  });

  it.each([
    [[BASE], /give at least two files/],
    [[BASE, 'vs'], /at least one on each side of vs/],
    [[BASE, runs.at('missing.json')], /missing\.json cannot be read as JSON: ENOENT/],
    [[BASE, runs.write('text.json', 'no JSON')], /text\.json cannot be read as JSON/],
    [[BASE, runs.write('list.json', '[]')], /list\.json is not a result .*: run must be an object/],
    [
      [BASE, runs.write('half.json', '{"calls":{}}')],
      /half\.json is not a result .*options must be an object/,
    ],
    [[BASE, SAME, '--allow', 'url,'], /comma-separated list of names/],
    [[BASE, SAME, '--max-slower', '5'], /share from 0% to 100%/],
  ])('%j ends with what is wrong', async (args, text) => {
    const { code, stdout, stderr } = await compare(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(text);
  });

  it.each([
    ['calls', 5],
    ['admittedPer100Ms', ['a']],
    ['elapsedMs', '5'],
    ['times', { latency: { hdrHistogram: 5 } }],
    ['times', { latency: { hdrHistogram: 'x' } }],
  ])('names the file whose %s is %j', async (name, value) => {
    const path = runs.record('wrong.json', {
      edit: (data) => {
        data[name] = value;
      },
    });
    const { code, stderr } = await compare(BASE, path);
    expect(code).toBe(1);
    expect(stderr).toContain(`${path} is not a result of zerotime load --json: `);
  });
});
