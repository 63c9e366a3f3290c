import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../support/long-tests.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TIMEOUT_MS = 240_000;
const CHANGED = ['apps/api', 'libs/domain/release-notes', 'libs/platform/auth', 'test/api/release-notes'];
const NOT_COPIED = ['.git', 'node_modules', 'coverage'];

let copy: string;

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'headrace-new-resource-'));
  for (const entry of await readdir(ROOT))
    if (!NOT_COPIED.includes(entry)) await cp(join(ROOT, entry), join(copy, entry), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await run('scripts/new-resource.mjs', 'release-note');
}, TIMEOUT_MS);
afterAll(() => rm(copy, { recursive: true, force: true }));

/** Returns the output of the program. Rejects with the end of the output when the program fails. */
async function run(program: string, ...args: string[]): Promise<string> {
  const { VITEST: _, ...env } = process.env;
  const options = { cwd: copy, env, maxBuffer: 16 * 1024 * 1024 };
  try {
    return (await promisify(execFile)(process.execPath, [join(copy, program), ...args], options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} failed:\n${(stdout ?? '').slice(-5000)}${(stderr ?? '').slice(-5000)}`);
  }
}

describe.runIf(isLong)('npm run new:resource', { timeout: TIMEOUT_MS }, () => {
  it('generates code that compiles and has no lint errors', async () => {
    await run('node_modules/oxlint/bin/oxlint', '--type-check', ...CHANGED);
  });

  it('generates code whose types are checked', async () => {
    const broken = join(copy, 'libs/domain/release-notes/src/broken.ts');
    await writeFile(broken, 'export const text: string = 1;\n');
    const rejection = run('node_modules/oxlint/bin/oxlint', '--type-check', ...CHANGED);
    await expect(rejection).rejects.toThrow("Type 'number' is not assignable to type 'string'");
    await rm(broken);
  });

  it('generates code that is formatted and respects the boundaries of libraries', async () => {
    await run('node_modules/oxfmt/bin/oxfmt', '--check', ...CHANGED, 'ARCHITECTURE.md');
    const config = ['--config', '.dependency-cruiser.cjs'];
    await run('node_modules/dependency-cruiser/bin/dependency-cruise.mjs', 'libs/domain/release-notes', ...config);
  });

  // Its own run of the tests: it loads and transforms the code again.
  it('generates a resource whose tests pass together with the tests of all routes', async () => {
    const files = ['release-notes', 'route-audit', 'library-tree'];
    // The committed document has no release notes: that test fails until `npm run generate`.
    const options = ['--project=app', '--maxWorkers=1', '--testNamePattern=^(?!.*committed as openapi)'];
    const output = await run('node_modules/vitest/vitest.mjs', 'run', ...options, ...files);
    expect(output).toContain('release-notes.e2e-spec.ts');
  });

  it('rejects a resource that exists already, an invalid name and a missing name', async () => {
    await expect(run('scripts/new-resource.mjs', 'release-note')).rejects.toThrow(
      'libs/domain/release-notes/README.md exists already.',
    );
    await expect(run('scripts/new-resource.mjs', 'Release Note')).rejects.toThrow('Release Note is no name.');
    await expect(run('scripts/new-resource.mjs', 'sheep', '--plural', 'sheep')).rejects.toThrow('another word');
    await expect(run('scripts/new-resource.mjs')).rejects.toThrow('Usage: npm run new:resource NAME');
  });
});
