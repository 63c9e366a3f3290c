import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { HarnessDefinition, SetupCommandFinished } from '#execution/runner-protocol';
import { isRoot, RunnerProcess, type StartOptions } from './runner-process.js';

const SECRET = 'sk-secret-of-the-agent-0123456789';
const AGENT = fileURLToPath(new URL('echo-agent.mjs', import.meta.url));

const runners: RunnerProcess[] = [];
const start = async (options: StartOptions): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start(options);
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

/** Shows its arguments and variables, and then is the echo agent. */
const shown = (fields: Partial<HarnessDefinition> = {}): Record<string, HarnessDefinition> => ({
  shown: {
    command: 'bash',
    args: [
      '-c',
      `env > shown.txt; echo "args: $*" >> shown.txt; ls -ld ~/.shown >> shown.txt; exec node ${AGENT}`,
      'x',
    ],
    install_hint: 'it is a test',
    ...fields,
  },
});

async function shownBy(runner: RunnerProcess): Promise<string> {
  await runner.plane.untilEvent('turn_ended');
  return readFile(`${runner.work}/shown.txt`, 'utf8');
}

describe('a harness', () => {
  it('gets the secrets of the agent, unlike set-up commands, and reports none of them', async () => {
    const runner = await start({
      assignment: {
        harness: { type: 'shown' },
        prompt: `Say ${SECRET}`,
        agent_secrets: { auth: SECRET, variables: { EXTRA_KEY: 'another-secret-0123456789' } },
        environment: { uid: 'e'.repeat(22), setup_commands: ['env'], env: { SHOWN_KEY: 'of the environment' } },
      },
      handover: { harnesses: shown({ auth_variable: 'SHOWN_KEY' }) },
    });
    const text = await shownBy(runner);
    expect(text).toContain(`SHOWN_KEY=${SECRET}\n`);
    expect(text).toContain('EXTRA_KEY=another-secret-0123456789\n');
    const [setup] = runner.plane.data<SetupCommandFinished>('setup_command_finished');
    expect(setup?.output).toContain('SHOWN_KEY=of the environment');
    expect(setup?.output).not.toContain('EXTRA_KEY');
    expect(JSON.stringify(runner.plane.events())).not.toContain(SECRET);
    expect(runner.plane.said).toContain('Say ');
    expect(runner.logged).not.toContain(SECRET);
  });

  it('fails when the variable of its secret is unknown', async () => {
    const runner = await start({
      assignment: { harness: { type: 'shown' }, agent_secrets: { auth: SECRET } },
      handover: { harnesses: shown() },
    });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({
      outcome: 'failed',
      error_code: 'agent_process_failed',
      message: expect.stringContaining('"auth_variable"'),
    });
    expect(JSON.stringify(runner.plane.finished)).not.toContain(SECRET);
  });

  it.each(isRoot ? [false, true] : [false])(
    'gets model and reasoning level at its start (own user: %s)',
    async (ownUser) => {
      const runner = await start({
        ownUser,
        assignment: { harness: { type: 'shown', model_id: 'm 1' } },
        handover: {
          harnesses: shown({
            args: [...(shown()['shown']?.args ?? []), '--model={model}', '--level={reasoning_level}'],
            env: { LEVEL: '{reasoning_level}', MODEL: '{model}', SHOWN_DIR: '{home}/.shown/deep' },
          }),
        },
      });
      const text = await shownBy(runner);
      expect(text).toContain('args: --model=m 1\n');
      expect(text).toContain('MODEL=m 1\n');
      expect(text).not.toContain('LEVEL=');
      expect(text).toMatch(/^drwx------/m);
      expect(runner.plane.data('session_started')[0]).not.toHaveProperty('warnings');
    },
  );

  it('that lacks an option of the run is reported in the timeline, and works', async () => {
    const runner = await start({
      assignment: {
        harness: { type: 'shown', model_id: 'm-1', reasoning_level: 'high' },
        mcp_servers: { far: { url: 'http://127.0.0.1:9' } },
      },
      handover: { harnesses: shown() },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.data('session_started')[0]).toMatchObject({
      warnings: [
        'The agent does not support MCP servers over HTTP; not available: far.',
        'The agent does not offer the model m-1; it uses its default model.',
        'The agent does not offer the reasoning level high; it uses its default.',
      ],
    });
  });
});
