import { afterEach, describe, expect, it } from 'vitest';
import { fence, isRoot, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const runners: RunnerProcess[] = [];
const start = async (options: StartOptions = {}): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start(options);
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

/** The uploaded artifacts, without random fields. */
const handedIn = ({ plane }: RunnerProcess) =>
  plane.artifacts.map(({ reported: { source_key: _key, lease_epoch: _epoch, ...reported }, content }) => ({
    ...reported,
    ...(content === undefined ? {} : { content: content.toString() }),
  }));

describe('artifacts', () => {
  it('uploads all five types of artifacts of the built-in agent before the end of their turn', async () => {
    const runner = await start({
      assignment: {
        prompt: prompt(
          fence('write path=out/report.txt', 'all is well'),
          fence('artifact type=FILE path=out/report.txt title=The report'),
          fence('sh', String.raw`printf '\211PNG' > shot.png`),
          fence('artifact type=SCREENSHOT path=shot.png description=How it looks'),
          fence('artifact type=PLAN title=Next steps', '# Plan\n\n- rest'),
          fence('artifact type=PULL_REQUEST url=https://forge.example/pr/7 branch=fix'),
          fence(
            'artifact type=EXTERNAL_REFERENCE url=https://t.example/1 reference_type=ticket title=T-1',
            '{"points": 3}',
          ),
        ),
      },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(handedIn(runner)).toEqual([
      {
        artifact_type: 'FILE',
        mime_type: 'text/plain',
        filepath: 'out/report.txt',
        title: 'The report',
        content: 'all is well\n',
      },
      {
        artifact_type: 'SCREENSHOT',
        mime_type: 'image/png',
        filepath: 'shot.png',
        description: 'How it looks',
        content: expect.stringContaining('PNG'),
      },
      {
        artifact_type: 'PLAN',
        mime_type: 'text/markdown',
        filepath: '1.plan.md',
        title: 'Next steps',
        content: '# Plan\n\n- rest\n',
      },
      { artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pr/7', branch: 'fix' },
      {
        artifact_type: 'EXTERNAL_REFERENCE',
        url: 'https://t.example/1',
        reference_type: 'ticket',
        title: 'T-1',
        metadata: { points: 3 },
      },
    ]);
    const end = plane.events().findIndex(({ kind }) => kind === 'turn_ended');
    for (const { afterEvents } of plane.artifacts) expect(afterEvents).toBeLessThanOrEqual(end);
    expect(plane.calls().filter(({ tool_name: name }) => name === 'submit_artifact')).toHaveLength(5);
    expect(plane.said).toContain('artifact FILE out/report.txt: done');

    // A second turn hands in what is new, and nothing twice.
    plane.say('f1', prompt(fence('append path=out/report.txt', 'still'), fence('sh', 'true')));
    await plane.untilEvent('turn_ended', 2);
    expect(handedIn(runner).slice(5)).toEqual([
      expect.objectContaining({ filepath: 'out/report.txt', content: 'all is well\nstill\n' }),
    ]);
    await runner.close();
    expect(plane.artifacts).toHaveLength(6);
  });

  it('uploads the files of the artifacts directory of any agent, and reports problems with one of them', async () => {
    const runner = await start({
      limits: { max_artifact_bytes: 100 },
      ...(isRoot ? { ownUser: true } : {}),
      assignment: {
        prompt: fence(
          'sh',
          [
            'cd "$HEADRACE_ARTIFACTS_DIR"',
            'echo text > note.txt',
            'head -c 101 /dev/zero > large.bin',
            'ln -s /etc/passwd passwd.txt',
            'mkfifo pipe',
            'echo "{broken" > artifacts.jsonl',
          ].join('\n'),
        ),
      },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(handedIn(runner)).toEqual([
      { artifact_type: 'FILE', mime_type: 'text/plain', filepath: 'note.txt', content: 'text\n' },
    ]);
    expect(plane.data('output_truncated')).toEqual([
      {
        artifacts: [
          { artifact: 'artifacts.jsonl, line 1', problem: 'is not JSON' },
          { artifact: 'large.bin', problem: 'has 101 bytes; the limit is 100' },
          { artifact: 'passwd.txt', problem: 'is a symbolic link' },
          { artifact: 'pipe', problem: 'is not a regular file' },
        ],
      },
    ]);
    expect(plane.data('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
  });

  it('are uploaded after a short outage, and a rejected upload does not end the run', async () => {
    const runner = await start({
      assignment: { prompt: fence('sh', 'cd "$HEADRACE_ARTIFACTS_DIR"; echo a > a.txt; echo b > b.txt') },
      prepare: (plane) => {
        plane.fail('PUT /artifacts', 503, 2);
        plane.fail('PUT /artifacts', 400, 1);
      },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(plane.requests.filter(({ call }) => call === 'PUT /artifacts').map(({ status }) => status)).toEqual([
      503, 503, 400, 200,
    ]);
    expect(handedIn(runner)).toEqual([expect.objectContaining({ filepath: 'b.txt' })]);
    expect(plane.data('output_truncated')).toMatchObject([{ artifacts: [{ artifact: 'a.txt' }] }]);
    expect(await runner.close()).toBe(0);
    expect(plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it('uploads artifacts of a cancelled turn', async () => {
    const runner = await start({
      assignment: { prompt: fence('sh', 'echo done > "$HEADRACE_ARTIFACTS_DIR/half.txt"; echo ready; sleep 600') },
    });
    const { plane } = runner;
    await plane.until(() => JSON.stringify(plane.calls()).includes('ready\\n'), 'the command has said something');
    plane.want('stop');
    expect(await runner.exited).toBe(0);
    expect(handedIn(runner)).toEqual([expect.objectContaining({ filepath: 'half.txt', content: 'done\n' })]);
    expect(plane.finished).toMatchObject({ outcome: 'cancelled' });
  });
});
