import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../apps/headrace/src/cli/command-table.js';

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const UNITS = readdirSync(DEPLOY).filter((name) => name.endsWith('.service'));
const NO_SYSTEMD = spawnSync('systemd-analyze', ['--version']).error && '(skipped: systemd is not installed)';

describe('the units of systemd', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-units-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.skipIf(NO_SYSTEMD).each(UNITS)(`are accepted by systemd without a warning ${NO_SYSTEMD ?? ''}: %s`, (name) => {
    // A template is checked as one of its instances.
    const file = join(directory, name.replace('@.', '@up.'));
    copyFileSync(join(DEPLOY, name), file);
    const args = ['verify', '--man=no', '--recursive-errors=no', file];
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
  });

  it.each(UNITS)('start a command that exists, and keep the runs when their process ends: %s', (name) => {
    const unit = readFileSync(join(DEPLOY, name), 'utf8');
    const [, command = ''] = /^ExecStart=\/usr\/bin\/env headrace (\S+)/m.exec(unit) ?? [];
    const started = command === '%i' ? ['up', 'api', 'ingress', 'processor'] : [command];
    const known = COMMANDS.map((entry) => entry.name);
    for (const one of started) expect(known).toContain(one);
    const isService = /^Restart=always$/m.test(unit);
    expect(isService).toBe(command !== 'migrate');
    expect(/^KillMode=process$/m.test(unit)).toBe(isService);
  });
});
