#!/usr/bin/env node
import { Command } from 'commander';
import { thisVersion } from '../load/measure/machine.ts';
import { compareCommand } from './compare/command.ts';
import { hostCommand } from './host/command.ts';
import { loadCommand } from './load/command.ts';
import { endQuietly, failIfLost, withSafeErrors } from './output.ts';
import { simulateCommand } from './simulate/command.ts';

endQuietly(process.stderr);
const lostOutput = endQuietly(process.stdout);
process.on('exit', () => failIfLost(lostOutput()));
await withSafeErrors(new Command('zerotime'), 'zerotime', 'commands')
  .description('Load generator, simulator and tools of zerotime.')
  .version(thisVersion())
  .addCommand(loadCommand())
  .addCommand(compareCommand())
  .addCommand(simulateCommand())
  .addCommand(hostCommand())
  .parseAsync();
