import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { ExternalProcess } from './external-process.js';
import { fence, prompt } from './runner-process.js';

let api: TestApi;
let member: TestPrincipal;
const commands: ExternalProcess[] = [];

beforeAll(async () => {
  api = await startTestApi();
  member = await api.identities.user({ [await api.identities.team()]: 'member' });
});
afterAll(() => api.close());
afterEach(async () => {
  await Promise.all(commands.splice(0).map((command) => command.dispose()));
});

async function start(command: 'run' | 'resume', args: readonly string[], env: Record<string, string> = {}) {
  const started = await ExternalProcess.start({ url: api.url, token: member.token, command, args, env });
  commands.push(started);
  return started;
}
async function succeeded(command: 'run' | 'resume', args: readonly string[], env: Record<string, string> = {}) {
  const started = await start(command, args, env);
  expect(await started.exited, started.output + started.errors).toBe(0);
  return started;
}
const timelineOf = async (runId: string): Promise<{ event_type: string; payload: Record<string, unknown> }[]> =>
  (await api.request(200, `GET /agent/runs/${runId}/timeline`, { token: member.token })).body.events;
const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });

const REPOSITORY = [
  'git init -q . && git config user.email a@example.test && git config user.name a',
  'echo one > tracked && echo ignored > .gitignore && git add . && git commit -qm first && git checkout -qb work',
  'git worktree add -q tree && echo two > tracked && echo new > "not tracked" && chmod 755 "not tracked"',
  'ln -s tracked link && echo x > ignored && git add link && echo kept > "$HOME/of-the-user"',
].join('\n');

describe('headrace agent resume', { timeout: 120_000 }, () => {
  it('continues a run of another machine with its files, repositories and session', async () => {
    const first = await succeeded('run', ['--snapshots', '--prompt', prompt(fence('sh', REPOSITORY))]);
    const script = fence('sh', 'cat tracked; echo three > tracked; git -C tree status --short; echo "in $PWD"');
    const second = await succeeded('resume', [first.runId, '--message', script]);
    expect(second.runId).toBe(first.runId);
    expect(second.output).toMatch(/Restored \d+ files and directories of the last snapshot\./);
    expect(second.output).toContain('  two');
    expect(second.output).toContain(`in ${second.cwd}`);
    expect(readdirSync(second.cwd).sort()).toEqual(
      ['.git', '.gitignore', 'link', 'not tracked', 'tracked', 'tree'].sort(),
    );
    expect(readlinkSync(join(second.cwd, 'link'))).toBe('tracked');
    expect(statSync(join(second.cwd, 'not tracked')).mode & 0o777).toBe(0o755);
    expect(git(second.cwd, 'status', '--porcelain', '--branch')).toBe(
      git(first.cwd, 'status', '--porcelain', '--branch'),
    );
    expect(git(join(second.cwd, 'tree'), 'status', '--short')).toBe('');
    // Neither directory of the first machine, nor its home directory.
    expect(readFileSync(join(first.cwd, 'tracked'), 'utf8')).toBe('two\n');
    expect(existsSync(join(second.home, 'of-the-user'))).toBe(false);
    expect(existsSync(join(first.home, 'of-the-user'))).toBe(true);

    // The home directory has an earlier version of the session.
    const directory = join(second.cwd, '../headrace-project-new', first.runId);
    const third = await succeeded(
      'resume',
      [first.runId, '--json', '--workspace', directory, '--message', fence('sh', 'cat tracked')],
      { HOME: second.home },
    );
    expect(JSON.stringify(third.lines)).toContain('three');
    expect(readFileSync(join(directory, 'tracked'), 'utf8')).toBe('three\n');
    rmSync(join(directory, '..'), { recursive: true });
    const sessions = (await timelineOf(first.runId)).filter(({ event_type: type }) => type === 'session_started');
    expect(sessions.map(({ payload }) => payload['resumed'])).toEqual([false, true, true]);
    for (const command of [first, second, third]) expect(await command.leftInTmp()).toEqual([]);
  });

  it('keeps the permissions of the directory', async () => {
    const first = await succeeded('run', ['--snapshots', '--prompt', prompt(fence('sh', 'chmod 711 . && echo a > a'))]);
    const directory = join(first.home, 'mine');
    mkdirSync(directory, { mode: 0o750 });
    await succeeded('resume', [first.runId, '--workspace', directory]);
    expect(statSync(directory).mode & 0o777).toBe(0o750);
    expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('a\n');
  });

  it('rejects a run without a snapshot, which then keeps its state', async () => {
    const first = await succeeded('run', ['--prompt', prompt(fence('sh', 'echo a > a'))]);
    const directory = join(first.home, 'new');
    const second = await start('resume', [first.runId, '--workspace', directory]);
    expect(await second.exited).toBe(1);
    expect(second.errors).toContain('The run has no stored snapshot');
    expect(existsSync(directory)).toBe(false);
    const { body } = await api.request(200, `GET /agent/runs/${first.runId}`, { token: member.token });
    expect(body.state).toBe('SUCCEEDED');
  });

  it('works in the directory to which a link leads', async () => {
    const link = join(mkdtempSync(join(tmpdir(), 'headrace-link-')), 'link');
    const target = join(link, '../target');
    mkdirSync(target);
    symlinkSync(target, link);
    const script = prompt(fence('sh', 'echo a > a'));
    const first = await succeeded('run', ['--snapshots', '--workspace', link, '--prompt', script]);
    rmSync(join(target, 'a'));
    await succeeded('resume', [first.runId, '--workspace', link]);
    expect(readFileSync(join(target, 'a'), 'utf8')).toBe('a\n');
    rmSync(join(link, '..'), { recursive: true });
  });

  it('ends the run as FAILED when the snapshot is not stored any more, and removes nothing', async () => {
    const first = await succeeded('run', ['--snapshots', '--prompt', prompt(fence('sh', 'echo a > a'))]);
    await api.database.query(
      `UPDATE snapshot_packs SET object_key = object_key || '-lost'
        WHERE id IN (SELECT pack_id FROM run_snapshot_packs WHERE run_id = $1)`,
      [first.runId],
    );
    const second = await start('resume', [first.runId]);
    expect(await second.exited).toBe(1);
    expect(second.output).toContain('FAILED: The snapshot was not restored');
    expect(existsSync(second.cwd)).toBe(true);
  });

  it('rejects a directory with files, a file, and an unknown run, before anything changes', async () => {
    const first = await succeeded('run', ['--snapshots', '--prompt', prompt(fence('sh', 'echo a > a'))]);
    writeFileSync(join(first.home, 'file'), '');
    for (const directory of [first.cwd, join(first.home, 'file')]) {
      const refused = await start('resume', [first.runId, '--workspace', directory]);
      expect(await refused.exited).toBe(1);
      expect(refused.errors).toContain(`${directory} is not an empty directory.`);
    }
    const unknown = await start('resume', ['01900000-0000-7000-8000-000000000000']);
    expect(await unknown.exited).toBe(1);
    expect(unknown.errors).toContain('Run not found.');
    const missing = await start('resume', []);
    expect(await missing.exited).toBe(2);
    const types = (await timelineOf(first.runId)).map(({ event_type: type }) => type);
    expect(types).not.toContain('followup_received');
  });

  it('stores no snapshot of a directory that contains the home directory', async () => {
    const home = mkdtempSync(join(tmpdir(), 'headrace-home-'));
    const link = `${home}-link`;
    symlinkSync(home, link);
    const unknown = '01900000-0000-7000-8000-000000000000';
    for (const [command, args] of [
      ['run', ['--snapshots', '--workspace', '/', '--prompt', 'Nothing.']],
      ['run', ['--snapshots', '--workspace', home, '--prompt', 'Nothing.']],
      ['resume', [unknown, '--workspace', home]],
    ] as const) {
      const refused = await start(command, args, { HOME: link });
      expect(await refused.exited).toBe(1);
      expect(refused.errors).toContain('Snapshots of a directory that contains your home directory are not stored');
    }
    rmSync(link);
    rmSync(home, { recursive: true });
  });
});
