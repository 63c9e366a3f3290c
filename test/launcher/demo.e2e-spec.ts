import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkout, environment, Launched, processesNaming, removeDir, temporaryDir } from './launched.js';
import { isLong } from '../support/long-tests.js';

let directory = '';
let server: Server | null = null;

beforeEach(() => {
  directory = temporaryDir();
});

afterEach(async () => {
  const closing = server;
  server = null;
  if (closing) await new Promise((resolve) => closing.close(resolve));
  removeDir(directory);
});

function startDemo(dataDir: string): Launched {
  return new Launched(process.execPath, [join(checkout, 'scripts/demo.mjs')], {
    cwd: directory,
    env: environment(dataDir),
  });
}

describe('npm run demo', () => {
  // The short tests execute the blocks of the README and the example factories.
  it.runIf(isLong)(
    'starts an instance when none runs, executes runs and the example factories, and leaves no process running',
    { timeout: 400_000 },
    async () => {
      const dataDir = join(directory, 'data');
      const launched = startDemo(dataDir);
      expect(await launched.exit, launched.output).toBe(0);
      for (const expected of [
        /state: SUCCEEDED/,
        /← completed .*Hello from Headrace/,
        /← failed .*"exit_code":1/,
        /bytes, \d+ lines; the first ones:/,
        /accepted: live_session/,
        /modified greeting\.txt\n[^]*\+Hello from the fork\./,
        /state: CANCELLED/,
        // The ci-failures example is applied, receives a delivery of each kind, and one of them starts a run.
        /\+ {2}webhook +builds +\w{22}/,
        /\+ {2}automation +investigate +\w{22}/,
        /Accepted +build-8412\n +started run [\w-]+: /,
        /Duplicate +build-8412\n/,
        /Accepted +build-8413\n +started nothing: .*"try-something"/,
        /Rejected \(invalid JSON\)/,
        /# Failed tests: 2/,
        /artifact: FILE report\.md/,
        /Would not trigger\n.*\n.*\n +✗ payload: `build\.branch` is "try-something"/,
        // The error-tracker example starts its agent, which is named foreman.
        /Accepted +msg-4507\n +started run [\w-]+: /,
        /First of our frames: src\/cart\/total\.js/,
        /tracker:4508 goes to foreman/,
        /The demo went through\./,
      ]) {
        expect(launched.output).toMatch(expected);
      }
      // The secrets of the senders are passed on standard input, so they must not be printed.
      expect(launched.output).not.toMatch(/whsec_|[0-9a-f]{64}/);
      await vi.waitFor(() => expect(processesNaming(dataDir)).toEqual([]), { timeout: 10_000 });
    },
  );

  it('uses a running instance and reports the request that failed', async () => {
    server = createServer((request, response) => {
      response.statusCode = request.url === '/health/ready' ? 200 : 401;
      response.end('{"error_code":"authentication_required"}');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server?.once('listening', resolve));
    const dataDir = join(directory, 'data');
    mkdirSync(dataDir);
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
    writeFileSync(join(dataDir, 'connection.json'), JSON.stringify({ base_url, token: 'hr_wrong' }));
    const launched = startDemo(dataDir);
    expect(await launched.exit).toBe(1);
    expect(launched.output).toContain(`Using the running instance at ${base_url}.`);
    expect(launched.output).toContain(
      'The demo failed: POST /agent/runs answered 401: {"error_code":"authentication_required"}',
    );
    expect(launched.output).not.toContain('hr_wrong');
  });
});
