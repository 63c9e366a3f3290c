// Installs third-party agents for test/agents into a directory outside the repository: HEADRACE_TEST_AGENTS, or one in the
// cache of the user or, as root, of the system. They are large (about 1.5 GB), so what is there stays. `--test` then runs
// the tests that need them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, relative, resolve } from 'node:path';
import { inRoot } from './lib/paths.mjs';
import { prepare } from './lib/prepare.mjs';
import { runStep, StepFailed } from './lib/run-step.mjs';

/** Directory → package. Node first: the others are installed for it, and some need it newer than ours. */
const PACKAGES = {
  node: 'node@22',
  claude: '@agentclientprotocol/claude-agent-acp',
  codex: '@agentclientprotocol/codex-acp',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
  qwen: '@qwen-code/qwen-code',
};

// As root, agents run as separate users, who cannot read root's home directory.
const cache = process.getuid?.() === 0 ? '/var/cache' : process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
const directory = resolve(process.env.HEADRACE_TEST_AGENTS || join(cache, 'headrace-test-agents'));

function install(name, packageName) {
  const place = join(directory, name);
  if (existsSync(join(place, 'node_modules'))) return;
  console.log(`Installing ${packageName} …`);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"private":true}\n');
  // npm takes the newest version that fits the Node it runs on.
  const path = [join(directory, 'node/node_modules/node/bin'), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH: path, npm_config_cache: join(directory, '.npm-cache') };
  try {
    const flags = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['install', ...flags, packageName], { cwd: place, env, stdio: 'inherit' });
  } catch {
    rmSync(join(place, 'node_modules'), { recursive: true, force: true });
    throw new StepFailed(`${packageName} could not be installed.`);
  }
}

try {
  if (!relative(inRoot('.'), directory).startsWith('..'))
    throw new StepFailed('HEADRACE_TEST_AGENTS must name a directory outside the repository.');
  for (const [name, packageName] of Object.entries(PACKAGES)) install(name, packageName);
  console.log(`The agents are in ${directory}.`);
  if (process.argv.includes('--test')) {
    await prepare();
    const args = ['run', '--project', 'e2e', 'test/agents'];
    await runStep(process.execPath, [inRoot('node_modules/vitest/vitest.mjs'), ...args], {
      env: { ...process.env, HEADRACE_TEST_AGENTS: directory },
    });
  }
} catch (error) {
  if (!(error instanceof StepFailed)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
