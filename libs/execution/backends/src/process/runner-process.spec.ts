import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { RunnerHandover } from '#execution/runner-protocol';
import { RunnerProcess } from './runner-process.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-runner-process-'));
const entry = join(directory, 'entry.mjs');
writeFileSync(entry, 'process.stderr.write(JSON.stringify({ level: "warn", msg: "environment", env: process.env }))');
afterAll(() => rmSync(directory, { recursive: true }));

const HANDOVER = { execution_id: '1' } as RunnerHandover;

describe('a runner process', () => {
  it('uses the certificate authorities of its launcher, and inherits no other variable', async () => {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', join(directory, 'authority.pem'));
    vi.stubEnv('SECRETS_KEY', 'a-secret');
    const warn = vi.fn();
    const log = { debug: vi.fn(), info: vi.fn(), warn, error: vi.fn() };
    const runner = new RunnerProcess({ entry, isReused: false }, log);
    runner.begin(HANDOVER);
    await runner.exited;
    await vi.waitFor(() => expect(warn).toHaveBeenCalledWith('environment', expect.anything()));
    const [, { env }] = warn.mock.calls.find(([message]) => message === 'environment') as [string, { env: object }];
    expect(Object.keys(env).sort()).toEqual(['LANG', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'PATH']);
    expect(env).toMatchObject({ NODE_EXTRA_CA_CERTS: join(directory, 'authority.pem') });
  });
});
