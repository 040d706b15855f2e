#!/usr/bin/env node
import { Command } from 'commander';
import { thisVersion } from '../load/measure/machine.ts';
import { compareCommand } from './compare/command.ts';
import { hostCommand } from './host/command.ts';
import { loadCommand } from './load/command.ts';
import { endQuietly, failIfLost, SAFE_OUTPUT } from './output.ts';
import { simulateCommand } from './simulate/command.ts';

endQuietly(process.stderr);
const lostOutput = endQuietly(process.stdout);
process.on('exit', () => failIfLost(lostOutput()));
await new Command('zerotime')
  .configureOutput(SAFE_OUTPUT)
  .description('Load generator, simulator and tools of zerotime.')
  .version(thisVersion())
  .addCommand(loadCommand())
  .addCommand(compareCommand())
  .addCommand(simulateCommand())
  .addCommand(hostCommand())
  .showHelpAfterError('(zerotime --help shows all commands)')
  .parseAsync();
