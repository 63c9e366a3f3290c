import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { insidePath, searchFiles } from './files.js';
import { PlanProgress } from './report.js';

let cwd: string;
beforeEach(() => void (cwd = mkdtempSync(join(tmpdir(), 'headrace-files-'))));
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

it('rejects paths and links outside the working directory', async () => {
  symlinkSync('/etc', join(cwd, 'etc'));
  symlinkSync('/nowhere/at/all', join(cwd, 'dangling'));
  mkdirSync(join(cwd, '..names'));
  for (const path of ['../x', '/etc/passwd', 'a/../../x', 'etc/passwd', 'dangling', 'dangling/x']) {
    await expect(insidePath(cwd, path), path).rejects.toThrow(/outside/);
  }
  for (const path of ['a', 'a/b/c', './a', 'a/../b', '..names/x']) expect(await insidePath(cwd, path)).toContain(cwd);
});

it('searches literally and returns sorted lines', async () => {
  writeFileSync(join(cwd, 'b.txt'), 'x\na.c\n');
  writeFileSync(join(cwd, 'a.txt'), 'a.c\nabc\n');
  writeFileSync(join(cwd, 'binary'), 'a.c\0');
  const found = await searchFiles(cwd, cwd, 'a.c', new AbortController().signal);
  expect(found).toEqual([
    { path: 'a.txt', line: 1, text: 'a.c' },
    { path: 'b.txt', line: 2, text: 'a.c' },
  ]);
});

it('advances a plan with any number of actions', () => {
  const plan = new PlanProgress(['a', 'b', 'c'], 2);
  const statuses = () => plan.view().map(({ status }) => status);
  expect(statuses()).toEqual(['in_progress', 'pending', 'pending']);
  plan.advance();
  expect(statuses()).toEqual(['completed', 'in_progress', 'pending']);
  plan.advance();
  expect(statuses()).toEqual(['completed', 'completed', 'completed']);
  const idle = new PlanProgress(['a'], 0);
  expect(idle.view()[0]?.status).toBe('completed');
});
