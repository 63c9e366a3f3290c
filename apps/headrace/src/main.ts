import { COMMANDS } from './cli/command-table.js';
import { runCommandLine } from './cli/run-command-line.js';

process.exitCode = await runCommandLine(COMMANDS, process.argv.slice(2));
