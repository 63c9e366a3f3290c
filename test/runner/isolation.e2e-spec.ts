import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, chmod, mkdtemp, mkdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { ALL_USERS, fence, isRoot, pidsWith, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const runners: RunnerProcess[] = [];
const start = async (options: StartOptions = {}): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start(options);
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

const outputs = (runner: RunnerProcess): string[] =>
  runner.plane.calls().map(({ output }) => (output as { output: string }).output);

describe('the environment of an agent', () => {
  const look = prompt(
    fence(
      'sh',
      'env; echo ---; tr "\\0" "\\n" < /proc/self/environ; echo ---; tr "\\0" "\\n" < /proc/$PPID/environ 2>/dev/null; true',
    ),
    fence(
      'sh',
      'pid=$$; while [ "$pid" -gt 1 ]; do tr "\\0" " " < /proc/$pid/cmdline; echo; pid=$(awk "/^PPid/{print \\$2}" /proc/$pid/status); done',
    ),
    fence('sh', 'pwd; find .. 2>/dev/null; grep -rl hrx_ .. 2>/dev/null; true'),
    fence('sh', 'ls -l /proc/self/fd | wc -l; stat -c "%a %u" "$HOME/.." "$HOME" . "$TMPDIR"; umask'),
  );

  it.each(ALL_USERS)('contains neither the token nor the environment of the runner, as %s', async (_name, ownUser) => {
    const runner = await start({
      ownUser,
      assignment: {
        prompt: look,
        environment: {
          uid: 'e'.repeat(22),
          setup_commands: ['env > setup-env'],
          env: { GIVEN: 'yes', HOME: '/root', HEADRACE_RUN_ID: 'forged' },
        },
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const { plane, handover } = runner;
    expect(plane.calls().map(({ status }) => status)).toEqual(['completed', 'completed', 'completed', 'completed']);
    const [env = '', cmdlines = '', files = '', rights = ''] = outputs(runner);
    for (const shown of [env, cmdlines, files]) {
      expect(shown).not.toContain(plane.token);
      expect(shown).not.toContain('hrx_');
      expect(shown).not.toContain('STRANGERS_SECRET');
      expect(shown).not.toContain(plane.baseUrl);
    }
    expect(env).toContain('GIVEN=yes');
    expect(env).toContain(`HOME=${handover.workspace_dir}/home\n`);
    expect(env).toContain(`HEADRACE_EXECUTION_MARKER=${handover.marker}`);
    expect(env).toContain(`HEADRACE_RUN_ID=${plane.assignment.run_id}`);
    expect(env).not.toContain('HEADRACE_RUN_AS=300');
    expect(cmdlines).toContain('builtin-agent');
    expect(files).toContain('setup-env');
    const owner = handover.run_as?.uid ?? process.getuid?.();
    expect(rights).toBe(`4\n${`700 ${owner}\n`.repeat(4)}0077\n`.replace(/^4/, /^\d+/.exec(rights)?.[0] ?? ''));
    expect(Number(/^\d+/.exec(rights)?.[0])).toBeLessThanOrEqual(6);
  });
});

describe.runIf(isRoot)('as root', () => {
  it('set-up commands and agent run as the given user and cannot become root', async () => {
    const runner = await start({
      ownUser: true,
      assignment: {
        environment: { uid: 'e'.repeat(22), setup_commands: ['id -u; id -G'], env: {} },
        prompt: prompt(
          fence('sh', 'id -u; id -G; grep -E "^(Uid|Gid|CapEff)" /proc/self/status'),
          fence('sh', 'cat /proc/1/environ /etc/shadow 2>&1 | head -c 200; kill -0 1 2>&1'),
          fence('write path=mine.txt', 'x'),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    const uid = runner.handover.run_as?.uid ?? 0;
    expect(runner.plane.data('setup_command_finished')).toMatchObject([{ output: `${uid}\n${uid}\n` }]);
    const [who = '', others = ''] = outputs(runner);
    expect(who).toContain(
      `${uid}\n${uid}\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\nGid:\t${uid}\t${uid}\t${uid}\t${uid}\nCapEff:\t0000000000000000`,
    );
    expect(others).toMatch(/Permission denied[\s\S]*not permitted/);
    expect((await stat(join(runner.work, 'mine.txt'))).uid).toBe(uid);
    expect(await runner.close()).toBe(0);
    expect(runner.workspaceIsGone).toBe(true);
  });

  it('a process that has emptied its environment and left its session still ends with its user', async () => {
    const runner = await start({
      ownUser: true,
      assignment: { prompt: fence('sh', 'cd /; env -i setsid sleep 4242 >/dev/null 2>&1 & sleep 0.2') },
    });
    await runner.plane.untilEvent('turn_ended');
    const uid = runner.handover.run_as?.uid ?? -1;
    const ofUser = () => pidsWith((pid) => ownerOf(pid) === uid);
    expect(ofUser().length).toBeGreaterThanOrEqual(2);
    await runner.close();
    expect(ofUser()).toEqual([]);
  });

  it('the built-in agent works from a directory that its user cannot enter', async () => {
    const checkout = await mkdtemp(join(tmpdir(), 'headrace-closed-'));
    const open = await mkdtemp(join(tmpdir(), 'headrace-open-'));
    const root = fileURLToPath(new URL('../../', import.meta.url));
    try {
      await chmod(open, 0o777);
      await chmod(checkout, 0o700);
      await mkdir(join(checkout, 'dist'));
      for (const part of ['dist/headrace.cjs', 'dist/chunks', 'package.json'])
        await cp(join(root, part), join(checkout, part), { recursive: true });
      await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
      const uid = 299_999;
      const main = join(checkout, 'dist/headrace.cjs');
      const agent = spawn(process.execPath, [main, 'builtin-agent'], {
        cwd: open,
        env: { PATH: process.env['PATH'], HOME: open, HEADRACE_RUN_AS: `${uid}:${uid}` },
      });
      const seen: string[] = [];
      const call = (id: number, method: string, params: object) =>
        agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      const answers = new Map<number, (result: Record<string, unknown>) => void>();
      createInterface({ input: agent.stdout }).on('line', (line) => {
        seen.push(line);
        const message = JSON.parse(line) as { id?: number; result?: Record<string, unknown> };
        if (message.id !== undefined) answers.get(message.id)?.(message.result ?? {});
      });
      const ask = (id: number, method: string, params: object) =>
        new Promise<Record<string, unknown>>((resolve) => {
          answers.set(id, resolve);
          call(id, method, params);
        });
      await ask(1, 'initialize', { protocolVersion: 1, clientCapabilities: {} });
      const { sessionId } = await ask(2, 'session/new', { cwd: open, mcpServers: [] });
      const text = prompt(
        fence('sh', `id -u; ls ${checkout} 2>&1`),
        fence('write path=a.txt', 'x'),
        fence('search pattern=x'),
        fence('sh', 'no-such-command'),
      );
      const { stopReason } = await ask(3, 'session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
      expect(stopReason).toBe('end_turn');
      expect(seen.join('\n')).toMatch(new RegExp(`${uid}\\\\nls: .*Permission denied`));
      const exited = new Promise((resolve) => agent.once('exit', resolve));
      agent.stdin.end();
      expect(await exited).toBe(0);
    } finally {
      await rm(checkout, { recursive: true, force: true });
      await rm(open, { recursive: true, force: true });
    }
  });
});

function ownerOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? -1);
}
