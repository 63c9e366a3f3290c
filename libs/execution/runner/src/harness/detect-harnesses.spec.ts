import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { detectHarnesses } from './harnesses-file.js';
import { STANDARD_HARNESSES } from './harnesses.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-detect-'));
afterAll(() => rmSync(directory, { recursive: true }));

function install(name: string, version: string): string {
  const program = join(directory, name, 'dist/index.js');
  mkdirSync(join(directory, name, 'dist'), { recursive: true });
  writeFileSync(join(directory, name, 'package.json'), JSON.stringify({ name, version }));
  writeFileSync(join(directory, name, 'dist/package.json'), '{"type":"module"}');
  writeFileSync(program, '#!/usr/bin/env node\n');
  chmodSync(program, 0o755);
  return program;
}

it('finds commands as a run would, and the version of their package', async () => {
  const linked = join(directory, 'linked');
  symlinkSync(install('one', '1.2.3'), linked);
  const found = await detectHarnesses({
    linked: { command: linked, args: [], install_hint: '' },
    'by-node': { command: process.execPath, args: [install('two', '2.0.0')], install_hint: '' },
    shell: { command: 'sh', args: ['-c', ''], install_hint: '' },
    missing: { command: 'headrace-no-such-command', args: [], install_hint: '' },
  });
  expect(found.slice(-4)).toEqual([
    { id: 'linked', installed: true, version: '1.2.3' },
    { id: 'by-node', installed: true, version: '2.0.0' },
    { id: 'shell', installed: true },
    { id: 'missing', installed: false },
  ]);
  expect(found.slice(0, -4).map(({ id }) => id)).toEqual(Object.keys(STANDARD_HARNESSES));
});
