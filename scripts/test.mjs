// Everything that is checked, from a fresh clone: installs and builds what is stale, runs the static checks and the
// tests, and closes with the line `N passed, N failed`. `--long` also runs the tests that take too long for each change, and the
// load tests at their full size.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } = await import('node:fs');
const { freemem, tmpdir } = await import('node:os');
const { join } = await import('node:path');
const { capture } = await import('./lib/captured-step.mjs');
const { inRoot } = await import('./lib/paths.mjs');
const { prepare } = await import('./lib/prepare.mjs');
const { runStep, StepFailed } = await import('./lib/run-step.mjs');

// Of the compiler and the linter, which are programs in Go: collects garbage less often, for a quarter less processor time.
process.env.GOGC ??= '1000';

const tool = (path, ...args) => [process.execPath, [inRoot('node_modules', path), ...args]];

const CHECKS_OF_SOURCES = {
  // Before the others: the console is checked with them.
  'types of the API': [process.execPath, [inRoot('scripts/console-types.mjs')]],
  // The types of the console, too. Their own checks, those of `npm run typecheck`, would load the same programs again.
  'lint and types': tool('oxlint/bin/oxlint', '--type-check'),
  format: tool('oxfmt/bin/oxfmt', '--check'),
  boundaries: tool(
    'dependency-cruiser/bin/dependency-cruise.mjs',
    'apps',
    'libs',
    '--config',
    '.dependency-cruiser.cjs',
  ),
  words: [process.execPath, [inRoot('scripts/check-language.mjs')]],
  documentation: [process.execPath, [inRoot('scripts/check-docs.mjs')]],
};
const CHECKS_OF_BUILD = {
  'generated files': [process.execPath, [inRoot('scripts/generate.mjs'), '--check']],
};

const MIN_FREE_MEMORY = 12 * 1024 ** 3;

let passed = 0;
let failed = 0;

/** Returns the output of what has failed. */
async function runChecks(checks) {
  const outputs = [];
  for (const [name, [program, args]] of Object.entries(checks)) {
    const result = await capture(program, args);
    const line = `${result.passed ? '✓' : '✗'} ${name} (${result.seconds.toFixed(1)} s)`;
    console.log(line);
    if (result.passed) passed += 1;
    else {
      failed += 1;
      outputs.push(`${line}\n${result.output}`);
    }
  }
  return outputs;
}

const isLong = process.argv.includes('--long');

/**
 * For the files of the tests. In memory where there is enough of it, since the databases of the tests write much; the
 * load tests at their full size write too much.
 */
function createTemporaryDirectory() {
  const memory = '/dev/shm';
  const isInMemory = !isLong && existsSync(memory) && Math.min(freemem(), freeBytes(memory)) > MIN_FREE_MEMORY;
  const directory = mkdtempSync(join(isInMemory ? memory : tmpdir(), 'headrace-'));
  // Agents and PostgreSQL run as other users.
  chmodSync(directory, 0o1777);
  return directory;
}

function freeBytes(path) {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

async function runTests() {
  const directory = createTemporaryDirectory();
  const report = join(directory, 'report.json');
  try {
    const [program, args] = tool(
      'vitest/vitest.mjs',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile=${report}`,
    );
    const env = { ...process.env, TMPDIR: directory, HEADRACE_TEST_CACHE: join(directory, 'modules') };
    if (isLong) env.HEADRACE_TEST_LONG = '1';
    // Node.js reads all these certificates at each start, which takes more processor time than the start itself. Only the tests at
    // their full size contact other hosts.
    else delete env.NODE_EXTRA_CA_CERTS;
    const problem = await runStep(program, args, { env }).then(
      () => null,
      (error) => error,
    );
    count(existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null, problem);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function count(report, problem) {
  passed += report?.numPassedTests ?? 0;
  const failedTests = report?.numFailedTests ?? 0;
  // A file that does not load has no tests that could fail.
  const brokenFiles = (report?.testResults ?? []).filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length;
  failed += failedTests + brokenFiles;
  // Faults outside of any test, such as an unhandled rejection.
  if (problem !== null && failedTests + brokenFiles === 0) failed += 1;
}

try {
  let ofSources = Promise.resolve([]);
  // Beside the build and the tests, which leave processor time unused while they wait.
  await prepare(() => (ofSources = runChecks(CHECKS_OF_SOURCES)));
  const ofBuild = ofSources.then(async (outputs) => [...outputs, ...(await runChecks(CHECKS_OF_BUILD))]);
  const [outputs] = await Promise.all([ofBuild, runTests()]);
  for (const output of outputs) console.error(output);
  // Not earlier: it needs an installed package.
  const { NO_BROWSER } = await import('./lib/browser.mjs');
  if (NO_BROWSER !== null) console.log(`The tests of the console were skipped: ${NO_BROWSER}.`);
} catch (error) {
  failed += 1;
  console.error(error instanceof StepFailed ? error.message : error);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
