import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Program } from '../support/installation.js';
import { packedHeadrace } from '../support/packed-headrace.js';
import { isLong } from '../support/long-tests.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLES = join(ROOT, 'examples/plugins');
const PLUGINS = ['backend', 'resource', 'signature-scheme', 'trigger-provider'];
const NAMES = PLUGINS.map((plugin) => `headrace-example-${plugin}`);
/** What the examples name as their development dependencies, as this repository has them. */
const TOOLS = ['vitest', '@types/node'];

/** A directory outside of the repository, where a user has installed Headrace and the plugins. */
let directory: string;

const npm = (...args: string[]) => run('npm', args, { cwd: directory, maxBuffer: 16_777_216 });

/** Returns the paths of the packages. */
async function pack(...sources: string[]): Promise<string[]> {
  const packages = join(directory, 'packages');
  const { stdout } = await npm('pack', '--json', '--ignore-scripts', '--pack-destination', packages, ...sources);
  return (JSON.parse(stdout) as { filename: string }[]).map(({ filename }) => join(packages, filename));
}

const install = (...packages: string[]) =>
  npm('install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...packages);

function link(name: string): void {
  const place = join(directory, 'node_modules', name);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), place);
}

/** Npm removes what it has not installed. */
const linkTools = (): void => TOOLS.forEach(link);

/** Compiles an example against the types of the installed package. The first one checks every declaration file, too. */
async function compile(plugin: string): Promise<void> {
  const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
  const options = plugin === PLUGINS[0] ? [] : ['--skipLibCheck'];
  await run(process.execPath, [compiler, '-p', plugin, ...options], { cwd: directory }).catch((error: unknown) => {
    throw new Error(`${plugin} does not compile:\n${(error as { stdout: string }).stdout}`);
  });
}

interface Report {
  readonly numPassedTests: number;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly failureMessages: readonly string[] }[];
  }[];
}

const failuresOf = ({ testResults }: Report): string =>
  testResults
    .flatMap(({ message, assertionResults }) => [
      message,
      ...assertionResults.flatMap(({ fullName, failureMessages }) =>
        failureMessages.map((text) => `${fullName}: ${text}`),
      ),
    ])
    .join('\n');

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-plugins-'));
  mkdirSync(join(directory, 'packages'));
  mkdirSync(join(directory, 'tests'));
  writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}');
  await install(await packedHeadrace());
  linkTools();
  for (const plugin of PLUGINS) {
    cpSync(join(EXAMPLES, plugin), join(directory, plugin), { recursive: true });
    await compile(plugin);
  }
  await install(...(await pack(...PLUGINS.map((plugin) => `./${plugin}`))));
  linkTools();
  // The tests import the installed packages, not their sources.
  for (const plugin of PLUGINS) {
    const tests = join(directory, plugin, 'dist/test');
    for (const file of readdirSync(tests)) cpSync(join(tests, file), join(directory, 'tests', file));
    rmSync(join(directory, plugin), { recursive: true });
  }
}, 180_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe.runIf(isLong)('the example plugins, installed outside of the repository', () => {
  it('pass their own tests with headrace/testing', { timeout: 120_000 }, async () => {
    const report = join(directory, 'report.json');
    const env = { ...process.env, HEADRACE_TEST_DATABASE_URL: inject('postgres').url };
    const vitest = join(directory, 'node_modules/vitest/vitest.mjs');
    // One process loads Headrace once for all of them.
    const pool = ['--maxWorkers=1', '--no-isolate'];
    const args = ['run', '--dir', 'tests', ...pool, '--reporter=json', `--outputFile=${report}`];
    await run(process.execPath, [vitest, ...args], { cwd: directory, env }).catch((error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      const text = existsSync(report)
        ? failuresOf(JSON.parse(readFileSync(report, 'utf8')) as Report)
        : stdout + stderr;
      throw new Error(`The tests of the examples failed:\n${text}`);
    });
    const results = JSON.parse(readFileSync(report, 'utf8')) as Report;
    expect(results.numPassedTests).toBe(results.numTotalTests);
    expect(results.numTotalTests).toBeGreaterThanOrEqual(25);
  });

  it(
    'are loaded by `npx headrace up` in an empty directory, and listed with their versions',
    { timeout: 120_000 },
    async () => {
      const empty = join(directory, 'empty');
      mkdirSync(empty);
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: empty,
        PORT: '0',
        INGRESS_PORT: '0',
        HEADRACE_PLUGINS: NAMES.join(','),
        HEADRACE_PLUGIN_EXAMPLE_BACKEND_DIRECTORY: join(empty, 'nice'),
        EXECUTOR: 'nice',
      };
      const child = spawn('npx', ['headrace', 'up'], {
        cwd: empty,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      const program = new Program(child, 'npx headrace up');
      try {
        await program.says('Headrace is ready.');
        const { base_url: base, token } = JSON.parse(
          readFileSync(join(empty, '.headrace/connection.json'), 'utf8'),
        ) as { base_url: string; token: string };
        const health = await (await fetch(new URL('/health', base))).json();
        expect(health).toMatchObject({
          status: 'ok',
          version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
          plugins: PLUGINS.map((plugin) => ({ name: `example-${plugin}`, version: '1.0.0' })),
        });
        const response = await fetch(`${base}/agent/runs`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{"prompt":"Say hello."}',
        });
        const { run_id: runId } = (await response.json()) as { run_id: string };
        const stateOf = async (): Promise<unknown> => {
          const answer = await fetch(`${base}/agent/runs/${runId}`, { headers: { authorization: `Bearer ${token}` } });
          return ((await answer.json()) as { state: string }).state;
        };
        await expect.poll(stateOf, { timeout: 120_000 }).toBe('SUCCEEDED');
        const { stdout } = await run('npx', ['headrace', 'doctor', '--json'], { cwd: empty, env });
        const { checks } = JSON.parse(stdout) as { checks: { check: string; found: string }[] };
        expect(checks.filter(({ check }) => check === 'plugins').map(({ found }) => found)).toContain(
          'example-backend 1.0.0, in processor, worker',
        );
      } finally {
        // As Ctrl-C in a terminal, which reaches npx and the server.
        if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGINT');
        await program.exited;
        expect(program.text).toContain('Stopped.');
      }
    },
  );
});
