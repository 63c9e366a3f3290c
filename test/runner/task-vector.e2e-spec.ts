import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fence, pidsWith, prompt } from './runner-process.js';
import { TaskProcess, type TaskOptions } from './task-process.js';

const tasks: TaskProcess[] = [];
const start = async (options: TaskOptions = {}): Promise<TaskProcess> => {
  const task = await TaskProcess.start(options);
  tasks.push(task);
  return task;
};
afterEach(async () => {
  await Promise.all(tasks.splice(0).map((task) => task.dispose()));
});

const FLAGS = ['--model', 'big', '--skill', 'o/r:s', '--mcp', '{"x":{"command":"secret-server"}}', '--computer-use'];
const MORE = [...FLAGS, '--harness', 'oz', '--environment', 'E', '--from-the-future', 'x', '--idle-on-complete', '0s'];

describe('headrace agent run --task-id', () => {
  it('executes the assignment of its environment in a separate workspace, and leaves nothing behind', async () => {
    const task = await start({
      more: MORE,
      assignment: { prompt: prompt('Go.', fence('sh', 'pwd; umask; echo made > here.txt; echo "flavour $FLAVOUR"')) },
      env: { FLAVOUR: 'vanilla' },
    });
    expect(await task.exited).toBe(0);
    expect(task.plane.finished).toMatchObject({ outcome: 'closed' });
    const output = JSON.stringify(task.plane.calls());
    expect(output).toMatch(/headrace-run-[^/]+\/workspace\/work/);
    expect(output).toContain('0077');
    expect(output).toContain('flavour vanilla');
    expect(existsSync(join(task.cwd, 'here.txt'))).toBe(false);
    expect(await task.leftInTmp()).toEqual([]);
    expect(task.logged).toContain('--from-the-future');
    expect(task.logged).not.toContain('secret-server');
  });

  it('removes its token from its environment before it starts a process', async () => {
    const script = [
      'env | grep -c HEADRACE_EXECUTION_TOKEN',
      // The runner, which is above this shell: what it was started with can be read by every process of its user.
      'pid=$PPID; while [ "$pid" -gt 1 ]; do',
      `  tr '\\0' '\\n' < /proc/$pid/environ | grep -E '^(HEADRACE_EXECUTION_|TASK_ID)' | cut -c1-60`,
      `  pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d' ' -f1)`,
      'done; true',
    ].join('\n');
    const task = await start({
      more: ['--idle-on-complete', '0s'],
      assignment: { prompt: prompt(fence('sh', script)) },
    });
    expect(await task.exited).toBe(0);
    const output = JSON.stringify(task.plane.calls());
    // The look has reached the runner, and the token is not there.
    expect(output).toContain(`TASK_ID=${task.plane.assignment.run_id}`);
    expect(output).toContain('HEADRACE_EXECUTION_TOKEN=xxxx');
    expect(output).not.toContain('hrx_');
    expect(task.logged).not.toContain(task.plane.token);
  });

  it('hides the key of the daemon from the processes that it starts', async () => {
    const script = [
      'env | grep -c WARP_API_KEY',
      'pid=$PPID; while [ "$pid" -gt 1 ]; do',
      `  tr '\\0' '\\n' < /proc/$pid/environ | grep -aE '^(WARP_API_KEY|TASK_ID)=' | cut -c1-60`,
      `  pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d' ' -f1)`,
      'done; true',
    ].join('\n');
    const task = await start({
      more: ['--idle-on-complete', '0s'],
      env: { WARP_API_KEY: 'wk-secret-of-the-daemon' },
      assignment: { prompt: prompt(fence('sh', script)) },
    });
    expect(await task.exited).toBe(0);
    const output = JSON.stringify(task.plane.calls());
    expect(output).toContain('TASK_ID=');
    expect(output).toContain('WARP_API_KEY=xxxx');
    expect(output).not.toContain('wk-secret-of-the-daemon');
  });

  it('accepts --flag=value, and the server of a variable', async () => {
    const other = await start();
    const id = other.plane.assignment.run_id;
    expect(await other.exited).toBe(0);
    for (const options of [
      { more: [`--task-id=${id}`, `--server-root-url=${root(other)}/`] },
      { more: [`--task-id=${id}`], env: { WARP_SERVER_ROOT_URL: root(other) } },
    ]) {
      const before = other.plane.requests.length;
      const task = await start({ bare: true, ...options });
      expect(await task.exited).toBe(0);
      expect(task.plane.requests).toEqual([]);
      expect(other.plane.requests.length).toBeGreaterThan(before);
    }
  });

  it('waits for messages with --idle-on-complete, and ends on request', async () => {
    const task = await start({ more: ['--idle-on-complete', '10m'], assignment: { prompt: 'Hello' } });
    await task.plane.untilEvent('turn_ended');
    task.plane.say('f1', prompt(fence('sh', 'echo second turn')));
    await vi.waitFor(() => expect(task.plane.events('turn_ended')).toHaveLength(2), 10_000);
    expect(task.plane.finished).toBeNull();
    task.plane.want('close');
    expect(await task.exited).toBe(0);
  });

  it('handles messages of the current turn without --idle-on-complete, and then ends', async () => {
    const task = await start({ assignment: { prompt: prompt(fence('sh', 'echo first; sleep 0.5')) } });
    await task.plane.untilEvent('turn_started');
    task.plane.say('f1', prompt(fence('sh', 'echo second')));
    expect(await task.exited).toBe(0);
    expect(task.plane.data('turn_started').map(({ followup_id: id }) => id)).toEqual([undefined, 'f1']);
    expect(task.plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it('works in the directory of --workspace, and removes nothing from it', async () => {
    const checkout = await mkdtemp(join(tmpdir(), 'headrace-checkout-'));
    writeFileSync(join(checkout, 'mine.txt'), 'mine');
    const before = statSync(checkout).mode;
    const task = await start({
      more: ['--workspace', checkout],
      assignment: {
        prompt: prompt(
          fence('sh', 'echo new > made.txt; echo "home $HOME"'),
          fence('artifact type=FILE path=made.txt'),
        ),
        repositories: [{ url: 'https://git.example.com/o/r.git', directory: 'r' }],
        environment: { uid: 'e'.repeat(22), setup_commands: ['echo setup > setup.txt'], env: {} },
      },
    });
    expect(await task.exited).toBe(0);
    expect(readFileSync(join(checkout, 'mine.txt'), 'utf8')).toBe('mine');
    expect(readFileSync(join(checkout, 'made.txt'), 'utf8')).toBe('new\n');
    expect(existsSync(join(checkout, 'setup.txt'))).toBe(true);
    expect(existsSync(join(checkout, 'r'))).toBe(false);
    expect(statSync(checkout).mode).toBe(before);
    expect(task.plane.artifacts.map(({ reported }) => reported['filepath'])).toEqual(['made.txt']);
    expect(JSON.stringify(task.plane.calls())).toMatch(/home [^"]*headrace-run-[^"]*\/home/);
    expect(await task.leftInTmp()).toEqual([]);
    await rm(checkout, { recursive: true });
  });

  it('leaves no process and no file after SIGKILL', async () => {
    const task = await start({
      assignment: { prompt: prompt(fence('sh', 'echo up; setsid sleep 4711 & sleep 4711')) },
    });
    const sleepers = () =>
      pidsWith((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep\x004711'));
    await vi.waitFor(() => expect(sleepers()).toHaveLength(2), 15_000);
    task.child.kill('SIGKILL');
    expect(await task.exited).toBe('SIGKILL');
    await vi.waitFor(() => expect(sleepers()).toEqual([]), 15_000);
    await vi.waitFor(async () => expect(await task.leftInTmp()).toEqual([]), 10_000);
  });

  it.each<[string, TaskOptions, string]>([
    ['no token', { env: { HEADRACE_EXECUTION_TOKEN: '' } }, 'The variable HEADRACE_EXECUTION_TOKEN is not set'],
    ['no execution', { env: { HEADRACE_EXECUTION_ID: '' } }, 'The variable HEADRACE_EXECUTION_ID is not set'],
    ['no server', { bare: true, more: ['--task-id', 'x'] }, '--server-root-url must be'],
    ['a server of another kind', { more: ['--server-root-url', 'ftp://x'] }, '--server-root-url must be'],
    ['no such workspace', { more: ['--workspace', '/nowhere/at/all'] }, '--workspace must be an existing directory'],
    ['a broken HARNESSES_FILE', { env: { HARNESSES_FILE: '/nowhere/at/all.json' } }, 'HARNESSES_FILE'],
  ])('exits with 64 and a message for %s', async (_name, options, message) => {
    const task = await start(options);
    expect(await task.exited).toBe(64);
    expect(task.logged).toContain(message);
    expect(task.plane.requests).toEqual([]);
  });

  it('exits with 77 when the claim is rejected, and with 75 when the lease is lost', async () => {
    const refused = await start({ prepare: (plane) => plane.fail('POST /claim', 412) });
    expect(await refused.exited).toBe(77);
    expect(refused.plane.finished).toBeNull();
    expect(await refused.leftInTmp()).toEqual([]);
    const lost = await start({ prepare: (plane) => plane.fail('POST /events', 412) });
    expect(await lost.exited).toBe(75);
    expect(lost.plane.finished).toBeNull();
    expect(await lost.leftInTmp()).toEqual([]);
  });
});

const root = (task: TaskProcess): string => task.plane.baseUrl.replace('/api/v1', '');
