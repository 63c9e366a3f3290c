import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkout, Launched } from './launched.js';

describe('launcher', () => {
  it('reports a server that was killed before it read the settings and exits with 1', async () => {
    const program = `
      import { startServer } from ${JSON.stringify(join(checkout, 'scripts/lib/server.mjs'))};
      const server = startServer('up', process.env);
      server.child.kill('SIGKILL');
      process.exitCode = await server.exited;
    `;
    const launched = new Launched(process.execPath, ['--input-type=module', '--eval', program], { env: {} });
    expect([await launched.exit, launched.output]).toEqual([1, 'The server was killed by signal SIGKILL.\n']);
  });
});
