#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { compareCommand } from './compare/command.ts';
import { hostCommand } from './host/command.ts';
import { loadCommand } from './load/command.ts';
import { endQuietly, failIfLost, SAFE_OUTPUT } from './output.ts';
import { simulateCommand } from './simulate/command.ts';

// Relative to lib/cli, where the bundle runs.
const MANIFEST = new URL('../../package.json', import.meta.url);
const { version }: { version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'));

endQuietly(process.stderr);
const lostOutput = endQuietly(process.stdout);
process.on('exit', () => failIfLost(lostOutput()));
await new Command('zerotime')
  .configureOutput(SAFE_OUTPUT)
  .description('Load generator, simulator and tools of zerotime.')
  .version(version)
  .addCommand(loadCommand(version))
  .addCommand(compareCommand(version))
  .addCommand(simulateCommand(version))
  .addCommand(hostCommand())
  .showHelpAfterError('(zerotime --help shows all commands)')
  .parseAsync();
