// `npm run test:kubernetes`: the Kubernetes executor against the cluster that KUBECONFIG names. Pods reach this machine under
// HEADRACE_TEST_KUBERNETES_HOST, and HEADRACE_TEST_KUBERNETES_RUNNER_IMAGE has this version in /opt/headrace. Without them
// nothing is tested, and the reason is printed.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { existsSync, mkdtempSync, rmSync } = await import('node:fs');
const { tmpdir } = await import('node:os');
const { join } = await import('node:path');
const { inRoot } = await import('./lib/paths.mjs');
const { prepare } = await import('./lib/prepare.mjs');
const { runStep, StepFailed } = await import('./lib/run-step.mjs');

const REQUIRED = {
  KUBECONFIG: 'a kubeconfig file of an administrator',
  HEADRACE_TEST_KUBERNETES_HOST: 'the address under which pods reach this machine',
  HEADRACE_TEST_KUBERNETES_RUNNER_IMAGE: 'an image with this version in /opt/headrace',
};

const missing = Object.entries(REQUIRED).filter(([name]) => !process.env[name]);
if (missing.length > 0 || !existsSync(process.env.KUBECONFIG)) {
  console.log('Skipped: the tests need a cluster, and these settings are missing or name no file:');
  for (const [name, meaning] of missing.length > 0 ? missing : [Object.entries(REQUIRED)[0]])
    console.log(`  ${name}: ${meaning}`);
  process.exit(0);
}
const directory = mkdtempSync(join(tmpdir(), 'headrace-'));
try {
  await prepare();
  const vitest = [inRoot('node_modules/vitest/vitest.mjs'), 'run', '--project', 'kubernetes'];
  await runStep(process.execPath, [...vitest, ...process.argv.slice(2)], {
    env: { ...process.env, TMPDIR: directory, HEADRACE_TEST_KUBERNETES: '1' },
  });
} catch (error) {
  console.error(error instanceof StepFailed ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
