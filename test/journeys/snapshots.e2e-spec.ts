import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitFixture } from '#testing';
import { ExternalProcess } from '../runner/external-process.js';
import { answersIn, Installation, type Program, until } from '../support/installation.js';
import { createScriptedHarness } from '../support/scripted-harness.js';
import { isLong } from '../support/long-tests.js';

/** Of one step, on each of two harnesses. */
const FORKS = isLong ? 5 : 2;
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

describe('a run whose session has ended', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let directory: string;

  beforeAll(async () => {
    const harness = createScriptedHarness();
    ({ directory } = harness);
    installation = await Installation.create({
      MAX_IDLE_SESSIONS: '0',
      LEASE_TTL: '5s',
      HARNESSES_FILE: harness.file,
      GITHUB_URL: directory,
      GIT_LOCAL_ROOTS: directory,
      MAX_CONCURRENT_RUNS: '10',
      MAX_CONCURRENT_RUNS_PER_TEAM: '10',
    });
    server = await installation.up();
  });
  afterAll(async () => {
    await server.stop('SIGTERM');
    installation.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  const conversationOf = async (runId: string): Promise<string> =>
    answersIn((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const timelineOf = async (runId: string, type: string): Promise<any[]> =>
    (await installation.call('GET', `/agent/runs/${runId}/timeline`)).body.events.filter(
      ({ event_type: kind }: { event_type: string }) => kind === type,
    );
  const execute = async (script: string, fields: object = {}): Promise<string> => {
    const runId = await installation.createRun(sh(script), fields);
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    return runId;
  };
  const sessionEnds = (runId: string, count = 1): Promise<unknown> =>
    until(async () => (await timelineOf(runId, 'sandbox_shutdown')).length >= count, 20_000, 'the end of the session');
  const followUp = async (runId: string, script: string): Promise<string> => {
    await sessionEnds(runId);
    const { status } = await installation.call('POST', `/agent/runs/${runId}/followups`, { message: sh(script) });
    expect(status).toBe(200);
    await until(async () => (await conversationOf(runId)).includes('all of it'), 30_000, 'the second turn');
    return conversationOf(runId);
  };

  /** `headrace agent resume` on this machine. */
  const resumeHere = async (runId: string, script: string): Promise<ExternalProcess> => {
    const { base_url: base, token } = installation.connection;
    const args = [runId, '--message', sh(script)];
    const command = await ExternalProcess.start({ url: new URL(base).origin, token, command: 'resume', args });
    expect(await command.exited, command.output + command.errors).toBe(0);
    return command;
  };

  /** Of the repository that a user gets with the archive of a run; the branch, then the sorted files. */
  const statusOfArchive = async (runId: string): Promise<string[]> => {
    const { base_url: base, token } = installation.connection;
    const response = await fetch(`${base}/agent/runs/${runId}/archive`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const copy = mkdtempSync(join(directory, 'copy-'));
    execFileSync('tar', ['-xz', '-C', copy], { input: Buffer.from(await response.arrayBuffer()) });
    const status = execFileSync('git', ['-c', `safe.directory=${copy}`, 'status', '--porcelain', '--branch'], {
      cwd: copy,
      encoding: 'utf8',
    });
    const [branch = '', ...files] = status.trimEnd().split('\n');
    return [branch, ...files.sort()];
  };

  it('continues a run with its files after the session has ended', async () => {
    const runId = await execute(
      [
        'git init -q . && git config user.email a@example.test && git config user.name a',
        'echo one > tracked && git add . && git commit -qm first && git checkout -qb work',
        'echo two > tracked && echo staged > staged && git add staged && echo new > "not tracked" && ln -s tracked link && chmod 750 "not tracked"',
        'git status --porcelain=v2 --branch > ../home/status',
      ].join('\n'),
    );
    const said = await followUp(
      runId,
      'git status --porcelain=v2 --branch | diff - ../home/status && cat tracked staged "not tracked"; readlink link; stat -c %a "not tracked"; echo all of it',
    );
    for (const text of ['two', 'staged', 'new', 'tracked', '750']) expect(said).toContain(text);
    expect(said).not.toContain('< ');
    expect(await timelineOf(runId, 'workspace_restored')).toMatchObject([{ payload: { entries: expect.any(Number) } }]);
    expect((await timelineOf(runId, 'workspace_snapshot')).length).toBeGreaterThanOrEqual(1);
    expect(await timelineOf(runId, 'workspace_snapshot_failed')).toEqual([]);
    expect(await statusOfArchive(runId)).toEqual(['## work', ' M tracked', '?? "not tracked"', '?? link', 'A  staged']);
  });

  it('returns the changes of a repository in all sessions as one patch that applies to its first commit', async () => {
    const repository = new GitFixture(join(directory, 'acme', 'app'));
    const commit = repository.commit({ 'main.txt': 'one\n', 'old.txt': 'old\n' });
    const config = { name: 'repository', github_repos: [{ owner: 'acme', repo: 'app' }] };
    const { body: environment } = await installation.call('POST', '/environments', { config });
    const runId = await execute('echo two > main.txt', { config: { environment_id: environment.uid } });
    const diffOf = async () => {
      const { artifacts } = await installation.run(runId);
      expect(artifacts).toMatchObject([
        { artifact_type: 'DIFF', data: { filepath: 'app.diff', description: `Applies to commit ${commit}.` } },
      ]);
      const uid = String(artifacts[0]?.data.artifact_uid);
      const link = await installation.call('GET', `/agent/artifacts/${uid}/download`);
      return { uid, patch: await (await fetch(link.headers.get('location') ?? '')).text() };
    };
    const first = await diffOf();
    expect(first.patch).toContain('+two');
    await followUp(
      runId,
      'git mv old.txt new.txt && git -c user.name=a -c user.email=a@example.test commit -qam second; echo 3 > added; echo all of it',
    );
    await installation.waitFor(runId, ENDED);
    await sessionEnds(runId);
    await (await resumeHere(runId, 'echo here > here')).dispose();
    const last = await diffOf();
    expect(last.uid).toBe(first.uid);
    execFileSync('git', ['apply', '--index'], { cwd: repository.path, input: last.patch });
    expect(repository.git('status', '--porcelain')).toBe('A  added\nA  here\nM  main.txt\nR  old.txt -> new.txt');
    expect(readFileSync(join(repository.path, 'main.txt'), 'utf8')).toBe('two\n');
  });

  it.runIf(isLong)('moves a run to another machine and back, with the changes of both', async () => {
    const runId = await execute('git init -q . && echo hosted > file');
    await sessionEnds(runId);
    const command = await resumeHere(runId, 'cat file && echo laptop >> file');
    expect(readFileSync(join(command.cwd, 'file'), 'utf8')).toBe('hosted\nlaptop\n');
    await command.dispose();
    expect(await installation.run(runId)).toMatchObject({ state: 'SUCCEEDED', execution_location: 'LOCAL' });
    expect(await followUp(runId, 'wc -l < file; cat file; echo all of it')).toContain('laptop');
    expect(await installation.run(runId)).toMatchObject({ execution_location: 'REMOTE' });
  });

  it('forks a run at the end of a turn, with exactly the files and the session of that time', async () => {
    const runId = await execute('echo first > file');
    const steps = (await installation.call('GET', `/agent/runs/${runId}/conversation`)).body.steps;
    await followUp(runId, 'echo second > file; echo all of it');
    await sessionEnds(runId, 2);
    const [first, second] = (await timelineOf(runId, 'workspace_snapshot')).filter(
      ({ payload }) => payload.reason === 'turn',
    );
    const fork = async (body: object): Promise<string[]> => {
      const answer = await installation.call('POST', `/agent/runs/${runId}/fork`, body);
      expect(answer).toMatchObject({ status: 200 });
      const ids = answer.body.runs.map(({ run_id: id }: { run_id: string }) => id);
      for (const id of ids) expect(await installation.waitFor(id, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
      return ids;
    };
    const prompt = sh('cat file; echo "by $RANDOM" >> file; echo "$(wc -l < file) lines"');
    const last = await fork({ prompt, count: 2 });
    const early = await fork({ prompt, at: steps.at(-1).id });
    const bySequence = await fork({ prompt, at: first.sequence });
    for (const id of last) expect(await conversationOf(id)).toContain('second');
    for (const id of [...early, ...bySequence]) expect(await conversationOf(id)).toContain('first');
    for (const id of [...last, ...early]) {
      expect(await conversationOf(id)).toContain('2 lines');
      expect(await installation.run(id)).toMatchObject({ parent_run_id: runId, forked_from: { run_id: runId } });
      expect(await timelineOf(id, 'workspace_restored')).toHaveLength(1);
      expect((await timelineOf(id, 'session_started'))[0].payload).toMatchObject({ resumed: true });
    }
    expect(second.sequence).toBeGreaterThan(first.sequence);
  });

  it(`forks one step ${2 * FORKS} times, on two harnesses at once, and no fork has the changes of another`, async () => {
    const together = mkdtempSync(join(directory, 'together-'));
    // Agents run as separate users.
    chmodSync(together, 0o1777);
    const runId = await execute('mkdir d && echo base > d/file && echo kept > other && chmod 755 other');
    const [step] = (await installation.call('GET', `/agent/runs/${runId}/conversation`)).body.steps.slice(-1);
    // Each one waits until all have changed their files, then looks at them again.
    const change = [
      "find . -mindepth 1 -printf '%P %m\\n' | sort; cat d/file other",
      'echo "changed by $$" >> d/file; echo $$ > "own $$"',
      `mktemp -p '${together}' > /dev/null; until [ "$(ls '${together}' | wc -l)" -ge ${2 * FORKS} ]; do sleep 0.1; done`,
      'wc -l < d/file; ls | wc -l; tail -n 1 d/file | grep -c "by $$"',
    ].join('\n');
    const forks = await Promise.all(
      [
        { prompt: sh(change) },
        { prompt: JSON.stringify([{ run: change }]), config: { harness: { type: 'scripted' } } },
      ].map((body) => installation.call('POST', `/agent/runs/${runId}/fork`, { ...body, at: step.id, count: FORKS })),
    );
    const ids = forks.flatMap(({ body }) => body.runs.map(({ run_id: id }: { run_id: string }) => id));
    expect(new Set(ids).size).toBe(2 * FORKS);
    const costs: { readonly restoreMs: number; readonly snapshotMs: number; readonly bytes: number }[] = [];
    for (const id of ids) {
      expect(await installation.waitFor(id, ENDED)).toMatchObject({ state: 'SUCCEEDED', parent_run_id: runId });
      const conversation = await conversationOf(id);
      expect(conversation).toContain(String.raw`d 700\nd/file 600\nother 755\nbase\nkept\n2\n3\n1`);
      expect((await installation.call('GET', `/agent/runs/${id}/files?path=d/file`)).body).toMatch(
        /^base\nchanged by \d+\n$/,
      );
      const [restored] = await timelineOf(id, 'workspace_restored');
      const [snapshot] = await timelineOf(id, 'workspace_snapshot');
      costs.push({
        restoreMs: restored.payload.duration_ms,
        snapshotMs: snapshot.payload.duration_ms,
        bytes: snapshot.payload.stored_bytes,
      });
    }
    // Content is stored for the changed files and the session, not again for what the fork began with.
    for (const cost of costs)
      expect(cost).toEqual({
        restoreMs: expect.any(Number),
        snapshotMs: expect.any(Number),
        bytes: expect.any(Number),
      });
    expect(Math.max(...costs.map(({ bytes }) => bytes))).toBeLessThan(20_000);
    expect((await installation.call('GET', `/agent/runs/${runId}/files?path=d/file`)).body).toBe('base\n');
  });

  it('executes no command of the earlier conversation for an agent that cannot load its session', async () => {
    const runId = await installation.createRun(JSON.stringify([{ say: sh('echo "exec"uted-again') }]), {
      config: { harness: { type: 'scripted' } },
    });
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const body = { prompt: sh('echo all of it'), config: { harness: { type: 'oz' } } };
    const { body: forked } = await installation.call('POST', `/agent/runs/${runId}/fork`, body);
    const [{ run_id: fork }] = forked.runs;
    expect(await installation.waitFor(fork, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const conversation = await conversationOf(fork);
    expect(conversation).toContain('all of it');
    expect(conversation).not.toContain('executed-again');
  });

  it('rejects forks of unknown points and of runs of others', async () => {
    const runId = await execute('true');
    for (const at of [0, 'no-such-point', '01900000-0000-7000-8000-000000000001', -1, 1.5, {}, null])
      expect(await installation.call('POST', `/agent/runs/${runId}/fork`, { at })).toMatchObject({
        status: 400,
        body: { error_code: 'invalid_request', errors: [{ pointer: '/at' }] },
      });
    expect(await installation.call('POST', `/agent/runs/${runId}/fork`, { count: 11 })).toMatchObject({ status: 400 });
    const unknown = '01900000-0000-7000-8000-000000000001';
    expect(await installation.call('POST', `/agent/runs/${unknown}/fork`, {})).toMatchObject({ status: 404 });
  });

  it('lists what has changed since the start and between two turns, and returns files as they were', async () => {
    const config = {
      name: 'changes',
      setup_commands: [
        String.raw`printf 'a\nb\n' > kept; echo old > removed; echo same > moved; printf 'x\0y' > binary`,
      ],
    };
    const { body } = await installation.call('POST', '/environments', { config });
    const runId = await execute(
      String.raw`printf 'a\nB\n' > kept; rm removed; mv moved renamed; printf 'x\0z' > binary; mkdir d; echo new > d/added`,
      { config: { environment_id: body.uid } },
    );
    await followUp(runId, 'echo more >> d/added; chmod 755 kept; echo all of it');
    await sessionEnds(runId, 2);
    const changes = async (query = ''): Promise<{ status: number; body: Record<string, never> }> =>
      installation.call('GET', `/agent/runs/${runId}/changes${query}`);
    const turns = (await timelineOf(runId, 'workspace_snapshot')).filter(({ payload }) => payload.reason === 'turn');
    expect((await changes()).body).toMatchObject({
      from: { sequence: expect.any(Number) },
      files: [
        { path: 'binary', change: 'modified', is_binary: true },
        { path: 'd/added', change: 'added', additions: 2, deletions: 0, new_mode: '100600' },
        { path: 'kept', change: 'modified', additions: 1, deletions: 1, old_mode: '100600', new_mode: '100755' },
        { path: 'removed', change: 'deleted', deletions: 1 },
        { path: 'renamed', change: 'renamed', old_path: 'moved' },
      ],
      truncated: false,
    });
    const between = (await changes(`?from=${turns[0].sequence}&to=${turns[1].sequence}`)).body;
    expect(between).toMatchObject({ files: [{ path: 'd/added' }, { path: 'kept', additions: 0 }] });
    expect(JSON.stringify(between)).toContain('+more');
    expect((await changes('?path=d')).body).toMatchObject({ files: [{ path: 'd/added' }] });
    const file = async (query: string): Promise<string> =>
      (await installation.call('GET', `/agent/runs/${runId}/files?${query}`)).body;
    expect(await file('path=d/added')).toBe('new\nmore\n');
    expect(await file(`path=d/added&at=${turns[0].sequence}`)).toBe('new\n');
    expect(await file('path=d')).toMatchObject({ entries: [{ name: 'added', type: 'file', size_bytes: 9 }] });
    expect(await file('')).toMatchObject({ entries: expect.arrayContaining([{ name: 'd', type: 'directory' }]) });
    for (const path of ['../home', 'd/../../home'])
      expect(await file(`path=${encodeURIComponent(path)}`)).toMatchObject({ errors: [{ pointer: '/path' }] });
    for (const path of ['/etc/passwd', 'nothing'])
      expect(await file(`path=${encodeURIComponent(path)}`)).toMatchObject({ error_code: 'resource_not_found' });
    expect(await changes('?from=nothing')).toMatchObject({ status: 400, body: { errors: [{ pointer: '/from' }] } });
  });
});
