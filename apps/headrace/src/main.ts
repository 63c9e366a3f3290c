import { COMMANDS } from './cli/command-table.js';
import { runCommandLine } from './cli/run-command-line.js';

// The bundle is CommonJS, which has no top-level `await`.
void runCommandLine(COMMANDS, process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
