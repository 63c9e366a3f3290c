import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation, MAIN, type Program } from '../support/installation.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const [create = '', files = ''] = [...README.matchAll(/^````sh\n([\s\S]*?)^````$/gm)].map(([, block = '']) => block);
/** What the later commands use. */
const definitions = create.slice(0, create.indexOf('RUN='));

describe('the README', () => {
  let installation: Installation;
  let server: Program;
  let directory: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-readme-'));
    const harnesses = join(directory, 'harnesses.json');
    // The prompt of the example is one for the built-in agent.
    const other = { command: process.execPath, args: [MAIN, 'builtin-agent'] };
    writeFileSync(harnesses, JSON.stringify({ harnesses: { other } }));
    installation = await Installation.create({ HARNESSES_FILE: harnesses });
    server = await installation.up();
    symlinkSync(installation.dataDir, join(directory, '.headrace'));
  });
  afterAll(async () => {
    await server.stop('SIGTERM');
    installation.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it.each(['oz', 'other'])('continues a run with its files, and forks it with the agent %s', async (agent) => {
    const { base_url: url } = installation.connection;
    expect(definitions).toContain('URL=http://127.0.0.1:3000/api/v1');
    expect(files).toContain('/fork');
    const script = `set -eo pipefail\n${definitions.replace('http://127.0.0.1:3000/api/v1', url)}\n${files}\necho "$EDIT $FORK"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: directory,
      env: { ...process.env, ...(agent === 'oz' ? {} : { OTHER: agent }) },
    });
    const lines = stdout.trimEnd().split('\n');
    const [edit = '', fork = ''] = lines.at(-1)?.split(' ') ?? [];
    const [ofRun, ofFork] = lines.filter((line) => line.includes('"files"')).map((line) => JSON.parse(line));
    expect(ofRun.files).toMatchObject([{ path: 'notes.txt', change: 'added', additions: 2 }]);
    expect(ofFork.files).toMatchObject([
      { path: 'notes.txt', change: 'deleted' },
      { path: 'plan.txt', change: 'added' },
    ]);
    expect(lines.find((line) => line.startsWith('-'))).toMatch(/^-rw.* 8 .*notes\.txt$/);
    for (const id of [edit, fork]) expect(await installation.run(id)).toMatchObject({ state: 'SUCCEEDED' });
    expect(await installation.run(fork)).toMatchObject({
      forked_from: { run_id: edit },
      agent_config: { harness: { type: agent } },
    });
  });
});
