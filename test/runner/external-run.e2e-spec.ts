import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { ExternalProcess } from './external-process.js';
import { fence, pidsWith, prompt } from './runner-process.js';

let api: TestApi;
let team: string;
let member: TestPrincipal;
const commands: ExternalProcess[] = [];

beforeAll(async () => {
  api = await startTestApi({ settings: { cancelEscalationDelay: 1000 } });
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
});
afterAll(() => api.close());
afterEach(async () => {
  await Promise.all(commands.splice(0).map((command) => command.dispose()));
});

const start = async (args: readonly string[], env: Record<string, string> = {}): Promise<ExternalProcess> => {
  const command = await ExternalProcess.start({ url: api.url, token: member.token, args, env });
  commands.push(command);
  return command;
};
const runOf = async (command: ExternalProcess) =>
  (await api.request(200, `GET /agent/runs/${command.runId}`, { token: member.token })).body;
const followUp = (command: ExternalProcess, message: string) =>
  api.request(200, `POST /agent/runs/${command.runId}/followups`, { token: member.token, body: { message } });
const sleepers = (seconds: string) =>
  pidsWith((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`sleep\0${seconds}\0`));

describe('headrace agent run --prompt', () => {
  it('executes a run in the current directory, prints it, and does not clean the directory', async () => {
    const script =
      'echo found $(ls); echo made > made.txt; echo "$HOME"; env | grep -c HEADRACE_TOKEN; echo "key $MY_API_KEY"';
    const command = await start(
      ['--prompt', prompt('Say hello.', fence('sh', script)), '--title', 'A title', '--personal'],
      { MY_API_KEY: 'a-value-of-mine' },
    );
    writeFileSync(join(command.cwd, 'mine.txt'), 'mine');
    expect(await command.exited).toBe(0);
    expect(command.output).toContain(`Run ${command.runId}  ${api.url}/runs/${command.runId}`);
    expect(command.output).toContain('> ');
    // What the command of the agent prints, without values of the environment.
    expect(command.output).toContain('  found ');
    expect(command.output).not.toContain('a-value-of-mine');
    expect(command.output.trimEnd()).toMatch(/SUCCEEDED$/);
    expect(command.errors).toBe('');
    expect(command.output).not.toMatch(/hrx_|hrt_/);
    expect(await runOf(command)).toMatchObject({
      state: 'SUCCEEDED',
      title: 'A title',
      source: 'CLI',
      execution_location: 'LOCAL',
      is_sandbox_running: false,
      scope: { type: 'User' },
    });
    expect(readdirSync(command.cwd).sort()).toEqual(['made.txt', 'mine.txt']);
    expect(statSync(join(command.cwd, 'made.txt')).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(await command.leftInTmp()).toEqual([]);
    const { body } = await api.request(200, `GET /agent/runs/${command.runId}/conversation`, { token: member.token });
    const conversation = JSON.stringify(body);
    expect(conversation).toContain(command.home);
    expect(conversation).toContain('found');
    expect(conversation).not.toContain('a-value-of-mine');
    expect(conversation).not.toContain(member.token);
  });

  it('prints JSON lines with --json, and works in --workspace', async () => {
    const elsewhere = await start(['--prompt', 'Nothing.']);
    const command = await start([
      ...['--json', '--workspace', elsewhere.cwd, '--prompt', prompt(fence('sh', 'echo here > here.txt'))],
    ]);
    expect(await command.exited).toBe(0);
    const { lines } = command;
    expect(lines[0]).toEqual({
      type: 'run',
      run_id: command.runId,
      execution_id: expect.stringMatching(/^\d+$/),
      page: `${api.url}/runs/${command.runId}`,
    });
    const kinds = lines.filter(({ type }) => type === 'event').map(({ kind }) => kind);
    expect(kinds.slice(0, 4)).toEqual(['sandbox_ready', 'session_started', 'agent_started', 'turn_started']);
    expect(kinds.at(-1)).toBe('turn_ended');
    expect(lines.at(-1)).toEqual({ type: 'end', state: 'SUCCEEDED' });
    expect(existsSync(join(elsewhere.cwd, 'here.txt'))).toBe(true);
    expect(existsSync(join(command.cwd, 'here.txt'))).toBe(false);
  });

  it('registers a run of GitHub Actions when it runs there', async () => {
    const env = { GITHUB_ACTIONS: 'true', GITHUB_REPOSITORY: 'acme/app', GITHUB_SHA: 'abc', GITHUB_RUN_ID: '7' };
    const command = await start(['--prompt', 'Nothing.', '--team', team], env);
    expect(await command.exited).toBe(0);
    expect(await runOf(command)).toMatchObject({
      source: 'GITHUB_ACTION',
      execution_location: 'REMOTE',
      metadata: { github_repository: 'acme/app', github_sha: 'abc', github_run_id: '7' },
      scope: { type: 'Team', uid: team },
    });
  });

  it('exits with 1 and the reason when the agent fails', async () => {
    const command = await start(['--prompt', prompt(fence('fail', 'no way'))]);
    expect(await command.exited).toBe(1);
    expect(command.output).toMatch(/FAILED: .*exit code 1/s);
    const unknown = await start(['--prompt', 'Nothing.', '--harness', 'nobody-has-it']);
    expect(await unknown.exited).toBe(1);
  });

  it('ends its turn at an interrupt, and with --idle continues with a follow-up', async () => {
    const command = await start(['--idle', '--prompt', prompt(fence('sh', 'echo go; exec sleep 4721'))]);
    await vi.waitFor(() => expect(sleepers('4721')).toHaveLength(1), 25_000);
    await api.request(202, `POST /agent/runs/${command.runId}/interrupt`, { token: member.token });
    await vi.waitFor(async () => expect((await runOf(command)).state).toBe('SUCCEEDED'), 25_000);
    expect(sleepers('4721')).toEqual([]);
    expect((await followUp(command, fence('sh', 'echo continued'))).body.outcome).toBe('live_session');
    await command.says('  continued');
    await vi.waitFor(async () => expect((await runOf(command)).state).toBe('SUCCEEDED'), 25_000);
    command.child.kill('SIGINT');
    expect(await command.exited).toBe(0);
  });

  it('cancels the run on Ctrl-C, and leaves no process', async () => {
    const command = await start(['--prompt', prompt(fence('sh', 'echo go; setsid sleep 4713 & sleep 4713'))]);
    await vi.waitFor(() => expect(sleepers('4713')).toHaveLength(2), 25_000);
    command.child.kill('SIGINT');
    expect(await command.exited).toBe(1);
    expect(command.output).toContain('CANCELLED');
    expect(sleepers('4713')).toEqual([]);
    expect(await runOf(command)).toMatchObject({ state: 'CANCELLED' });
    expect(await command.leftInTmp()).toEqual([]);
  });

  it('cannot be cancelled through the API, and accepts a message while it works', async () => {
    const command = await start(['--prompt', prompt(fence('sh', 'echo go; sleep 2'))]);
    await command.says('> ');
    await api.request(422, `POST /agent/runs/${command.runId}/cancel`, { token: member.token });
    const { body } = await followUp(command, prompt(fence('sh', 'echo twice > twice.txt')));
    expect(body.outcome).toBe('live_session');
    expect(await command.exited).toBe(0);
    expect(existsSync(join(command.cwd, 'twice.txt'))).toBe(true);
  });

  it('waits for messages with --idle until Ctrl-C', async () => {
    const command = await start(['--idle', '--prompt', 'Nothing.']);
    await vi.waitFor(async () => expect((await runOf(command)).state).toBe('SUCCEEDED'), 25_000);
    expect((await runOf(command)).is_sandbox_running).toBe(true);
    await followUp(command, prompt(fence('sh', 'echo twice > twice.txt')));
    await vi.waitFor(() => expect(existsSync(join(command.cwd, 'twice.txt'))).toBe(true), 15_000);
    await vi.waitFor(async () => expect((await runOf(command)).state).toBe('SUCCEEDED'), 15_000);
    command.child.kill('SIGINT');
    expect(await command.exited).toBe(0);
    expect(await runOf(command)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: false });
  });

  it('leaves no process when it is killed, and its run ends in ERROR', async () => {
    const command = await start(['--prompt', prompt(fence('sh', 'echo go; sleep 4715'))]);
    await vi.waitFor(() => expect(sleepers('4715')).toHaveLength(1), 25_000);
    command.child.kill('SIGKILL');
    expect(await command.exited).toBe('SIGKILL');
    await vi.waitFor(() => expect(sleepers('4715')).toEqual([]), 15_000);
    await vi.waitFor(async () => expect(await command.leftInTmp()).toEqual([]), 15_000);
    await api.advanceClock(2 * api.settings.leaseTtl);
    await api.app.get(SweepExecutions).execute();
    expect(await runOf(command)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
  });

  it.each([
    [['--prompt', ''], 2, '--prompt is missing'],
    [['--prompt', 'x', '--mcp', '{'], 2, '--mcp must be a JSON object'],
    [['--prompt', 'x', '--permission-policy', 'maybe'], 2, '--permission-policy must be one of'],
    [['--prompt', 'x', '--personal', '--team', 'y'], 2, '--team and --personal are mutually exclusive'],
    [['--prompt', 'x', '--workspace', '/nowhere/at/all'], 1, '--workspace must be an existing directory'],
    [['--prompt', 'x', '--sandboxed'], 2, "unknown option '--sandboxed'"],
    [['--prompt', 'x', '--environment', 'nobody-has-it'], 1, 'environment'],
  ])('%j: exits with %i before anything is started', async (args, code, message) => {
    const command = await start(args);
    expect(await command.exited).toBe(code);
    expect(command.errors).toContain(message);
    expect(await command.leftInTmp()).toEqual([]);
  });

  it('needs a valid token', async () => {
    const without = await start(['--prompt', 'x'], { HEADRACE_TOKEN: '' });
    expect(await without.exited).toBe(1);
    expect(without.errors).toContain('a token is required');
    const bad = await start(['--prompt', 'x'], { HEADRACE_TOKEN: 'hrt_wrong' });
    expect(await bad.exited).toBe(1);
    expect(bad.errors).toContain('the API rejected the token');
  });
});
