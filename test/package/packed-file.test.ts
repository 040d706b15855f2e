import { readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { build as esbuild } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { archivedBytes, type LinkedProject, linkedProject } from './installed.ts';

const KIB = 1024;

const ENTRIES = [
  ...[
    'index',
    'keyed',
    'fetch',
    'host',
    'http',
    'load',
    'opentelemetry',
    'opentelemetry-metrics',
    'opentelemetry-register',
    'piscina',
    'prometheus',
    'redis',
    'streams',
  ],
  'undici',
  ...['throttle', 'tinypool'],
];
const COMMAND = [
  ...['LICENCES.txt', 'charts.js', 'live.js', 'main.js', 'commander.js', 'hdr-histogram-js.js'],
  ...['echo-server.js', 'load-process.js', 'load-worker.js', 'task-worker.js'],
];
const TOP_PAGES = ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md'];

let project: LinkedProject;
beforeAll(() => {
  project = linkedProject();
});
afterAll(() => project.remove());

/** The files of the package that this entry point loads, by static and dynamic imports. */
async function filesBehind(entry: string): Promise<string[]> {
  const { metafile } = await esbuild({
    stdin: { contents: `export * from '${entry}';`, resolveDir: project.folder },
    absWorkingDir: project.zerotime,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    treeShaking: false,
  });
  return Object.keys(metafile.inputs).filter((path) => path.startsWith('lib/'));
}

describe('the packed file', () => {
  test('contains its entry points with their types and sources, the command, and its pages', () => {
    const { files } = project;
    const beside = files.filter((file) => !file.startsWith('lib/'));
    const pages = beside.filter((file) => !/^docs\/([\w-]+\.md|images\/[\w-]+\.svg)$/.test(file));
    expect(pages).toEqual([...TOP_PAGES, 'LICENSE', 'package.json'].sort());
    const command = [...COMMAND, 'uplot.css', 'uplot.js'].map((name) => `lib/cli/${name}`);
    expect(files).toEqual(expect.arrayContaining(command));
    for (const name of ENTRIES) expect(files).toContain(`lib/${name}.js`);
    const library = files.filter((file) => /^lib\/[^/]*\.js$/.test(file));
    const maps = library.map((file) => `${file}.map`);
    const types = files.filter((file) =>
      /^lib\/(shared-[\w-]+|opentelemetry-\w+|\w+)\.d\.ts$/.test(file),
    );
    for (const name of ENTRIES) expect(types).toContain(`lib/${name}.d.ts`);
    expect(files).toEqual([...beside, ...command, ...library, ...maps, ...types].sort());
  });

  test('contains every page and picture that one of its pages links to', () => {
    const pages = project.files.filter((file) => file.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(15);
    const missing = pages.flatMap((page) => {
      const text = readFileSync(join(project.zerotime, page), 'utf8');
      const links = text
        .replaceAll(/^```[\s\S]*?^```$/gm, '')
        .matchAll(/\]\((?!https?:|#)([^)\s#]+)/g);
      return [...links]
        .map(([, to = '']) => normalize(join(dirname(page), to)))
        .filter((path) => !project.files.includes(path))
        .map((path) => `${page}: ${path}`);
    });
    expect(missing).toEqual([]);
  });

  test('contains no path of the machine that built it', () => {
    for (const file of project.files) {
      const text = readFileSync(join(project.zerotime, file), 'utf8');
      expect(text, file).not.toContain(process.cwd());
    }
  });

  test('shows a debugger the sources, but not those of the compiled engine', () => {
    const maps = project.files.filter((file) => file.endsWith('.map'));
    const shown = maps.flatMap((file) => {
      const map = JSON.parse(readFileSync(join(project.zerotime, file), 'utf8'));
      return map.sources.map((source: string, i: number) => {
        // Neither packages nor the compiled engine.
        expect(source).toMatch(/^\.\.\/src\/(?!kernel\/build\/)/);
        const text = readFileSync(new URL(`../../${source.slice(3)}`, import.meta.url), 'utf8');
        expect(map.sourcesContent[i]).toBe(text);
        return source;
      });
    });
    expect(shown).toContain('../src/limiters/token-bucket.ts');
  });

  test('has a core of less than 114 KiB: what the main entry point loads, without types', async () => {
    const core = await filesBehind('zerotime');
    expect(core.length).toBeLessThan(8);
    const bytes = archivedBytes(project, core);
    console.info(
      `${core.length} files, ${(bytes / KIB).toFixed(1)} KiB of ${(project.packedBytes / KIB).toFixed(1)} KiB`,
    );
    expect(bytes).toBeLessThan(114 * KIB);
    // Each thread that imports it keeps its text.
    const text = core.map((path) => statSync(join(project.zerotime, path)).size);
    expect(text.reduce((sum, size) => sum + size)).toBeLessThan(308 * KIB);
  });

  test('is at most 2.45 MB without source maps, and 1.38 MB packed', () => {
    const plain = project.files.filter((file) => !file.endsWith('.map'));
    const sizes = plain.map((file) => statSync(join(project.zerotime, file)).size);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(2.45e6);
    expect(project.packedBytes).toBeLessThan(1.38e6);
  });

  test('depends on no package, and ships the licence of each package in the command', () => {
    const manifest = JSON.parse(readFileSync(join(project.zerotime, 'package.json'), 'utf8'));
    expect(manifest).not.toHaveProperty('dependencies');
    const licences = readFileSync(join(project.zerotime, 'lib/cli/LICENCES.txt'), 'utf8');
    const parts = licences.split(/^-{80}$/m).map((part) => part.trim());
    const named = parts.map((part) => part.split(' ', 1)[0]);
    expect(named).toEqual(
      expect.arrayContaining(['commander', 'hdr-histogram-js', 'pako', 'preact', 'uplot']),
    );
    for (const part of parts.slice(1)) expect(part).toMatch(/Permission is|Redistribution and use/);
  });
});
