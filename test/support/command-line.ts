import { vi } from 'vitest';
import { COMMANDS } from '../../apps/headrace/src/cli/command-table.js';
import { runCommandLine } from '../../apps/headrace/src/cli/run-command-line.js';

/** What a command printed; fails unless it ends with this code. */
export async function headrace(code: number, ...args: string[]): Promise<{ output: string; errors: string }> {
  const printed = { output: '', errors: '' };
  const stdout = vi.spyOn(process.stdout, 'write');
  const stderr = vi.spyOn(process.stderr, 'write');
  stdout.mockImplementation((text) => ((printed.output += String(text)), true));
  stderr.mockImplementation((text) => ((printed.errors += String(text)), true));
  try {
    const ended = await runCommandLine(COMMANDS, args);
    if (ended !== code) throw new Error(`Ended with ${ended}: ${printed.output}${printed.errors}`);
    return printed;
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
}
