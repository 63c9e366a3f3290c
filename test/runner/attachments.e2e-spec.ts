import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AttachmentRef, HarnessDefinition, TurnStarted } from '#execution/runner-protocol';
import type { ControlPlaneDouble } from '#testing';
import { fence, isRoot, prompt, RunnerProcess, type StartOptions, withToolNotice } from './runner-process.js';

const runners: RunnerProcess[] = [];
const start = async (options: StartOptions = {}): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start(options);
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

const NOTES = prompt('Notes.', fence('sh', 'echo executed'));
const FILES = new Map([
  ['a1', { file_name: 'my notes.md', mime_type: 'text/markdown', content: Buffer.from(NOTES) }],
  ['a2', { file_name: 'dot.png', mime_type: 'image/png', content: Buffer.from([0x89, 0x50, 0x4e, 0x47]) }],
]);
const REFS: AttachmentRef[] = [...FILES].map(([attachment_id, { file_name, mime_type, content }]) => ({
  attachment_id,
  file_name,
  mime_type,
  size_bytes: content.length,
}));
const REPORTED = REFS.map(({ file_name, mime_type, size_bytes }) => ({ file_name, mime_type, size_bytes }));
const stored = (plane: ControlPlaneDouble): void => {
  for (const [id, { content }] of FILES) plane.storedAttachments.set(id, content);
};

function echo(env: Record<string, string> = {}, transcriptPath?: string): Record<string, HarnessDefinition> {
  const args = [fileURLToPath(new URL('echo-agent.mjs', import.meta.url))];
  const transcript = transcriptPath === undefined ? {} : { transcript_path: transcriptPath };
  return { echo: { command: process.execPath, args, env, install_hint: '', ...transcript } };
}
/** The prompt of the echo agent in its last turn. */
const reported = (plane: ControlPlaneDouble): Record<string, unknown>[] =>
  JSON.parse(plane.data<{ text: string }>('message_chunk').at(-1)?.text ?? '[]') as Record<string, unknown>[];

describe('the files of a run', () => {
  it.each(isRoot ? [false, true] : [false])(
    'are in the workspace and belong to the agent, for set-up and agent (own user: %s)',
    async (ownUser) => {
      const list = 'cd "$HEADRACE_ATTACHMENTS_DIR"; stat -c "%n %a %u" *; cat "my notes.md" >/dev/null && id -u';
      const runner = await start({
        ownUser,
        assignment: {
          attachments: REFS,
          environment: { uid: 'e'.repeat(22), setup_commands: ['ls "$HEADRACE_ATTACHMENTS_DIR"'], env: {} },
          prompt: fence('sh', list),
        },
        prepare: stored,
      });
      const { plane } = runner;
      await plane.untilEvent('turn_ended');
      expect(plane.data('setup_command_finished')).toMatchObject([{ output: 'dot.png\nmy notes.md\n' }]);
      const uid = ownUser ? runner.handover.run_as?.uid : process.getuid?.();
      expect(plane.calls()).toMatchObject([
        { output: { output: `dot.png 600 ${uid}\nmy notes.md 600 ${uid}\n${uid}\n` } },
      ]);
      expect(plane.data<TurnStarted>('turn_started')[0]?.attachments).toEqual(REPORTED);
      expect(await runner.close()).toBe(0);
      expect(runner.workspaceIsGone).toBe(true);
    },
  );

  it('are not instructions to the built-in agent', async () => {
    const runner = await start({ assignment: { attachments: REFS, prompt: 'Look at these.' }, prepare: stored });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.calls()).toEqual([]);
  });

  it('are sent with the first prompt as content that the agent accepts', async () => {
    const runner = await start({
      assignment: { attachments: REFS, harness: { type: 'echo' }, prompt: 'Look.' },
      handover: {
        harnesses: echo({ CAPABILITIES: '{"promptCapabilities":{"image":true,"embeddedContext":true}}' }),
      },
      prepare: stored,
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    const directory = `file://${join(runner.work, '../tmp/attachments')}`;
    expect(reported(plane)).toEqual([
      { type: 'text', text: withToolNotice('Look.') },
      { type: 'resource', resource: { uri: `${directory}/my%20notes.md`, mimeType: 'text/markdown', text: NOTES } },
      { type: 'image', mimeType: 'image/png', data: 'iVBORw==', uri: `${directory}/dot.png` },
    ]);
    plane.say('f1', 'And now?');
    await plane.untilEvent('turn_ended', 2);
    expect(reported(plane)).toEqual([{ type: 'text', text: 'And now?' }]);
    expect(plane.data<TurnStarted>('turn_started')[1]).not.toHaveProperty('attachments');
  });

  it('are placed again for a continued execution, and passed again to an agent with a new session', async () => {
    for (const forgetful of [false, true]) {
      const runner = await start({
        assignment: {
          attachments: REFS,
          harness: { type: 'echo' },
          base_prompt: 'Base.',
          prompt: null,
          resume: { session_id: 'earlier', transcript: false },
        },
        handover: {
          harnesses: echo({ CAPABILITIES: '{"loadSession":true}', ...(forgetful ? { FORGETFUL: '1' } : {}) }),
        },
        prepare: (plane) => {
          stored(plane);
          plane.say('f1', 'Continue.');
        },
      });
      const { plane } = runner;
      await plane.untilEvent('turn_ended');
      expect(existsSync(join(runner.work, '../tmp/attachments/dot.png'))).toBe(true);
      expect(reported(plane).map(({ type }) => type)).toEqual(
        forgetful ? ['text', 'resource_link', 'resource_link'] : ['text'],
      );
      expect(reported(plane)[0]).toMatchObject({
        text: forgetful ? `Base.\n\n${withToolNotice('Continue.')}` : 'Continue.',
      });
    }
  });

  it.each(isRoot ? [false, true] : [false])(
    'that come with a follow-up are placed beside the agent, and belong to it (own user: %s)',
    async (ownUser) => {
      const runner = await start({ ownUser, assignment: { prompt: fence('sh', 'rm -r "$HEADRACE_ATTACHMENTS_DIR"') } });
      const { plane } = runner;
      stored(plane);
      await plane.untilEvent('turn_ended');
      plane.say('f1', fence('sh', 'cd "$HEADRACE_ATTACHMENTS_DIR"; stat -c "%n %a %u" *; cat *.md | head -c 5'), {
        attachments: REFS,
      });
      await plane.untilEvent('turn_ended', 2);
      const uid = ownUser ? runner.handover.run_as?.uid : process.getuid?.();
      expect(plane.calls().at(-1)).toMatchObject({
        output: { output: `dot.png 600 ${uid}\nmy notes.md 600 ${uid}\n${NOTES.slice(0, 5)}` },
      });
      expect(plane.data<TurnStarted>('turn_started')[1]?.attachments).toEqual(REPORTED);
      expect(await runner.close()).toBe(0);
    },
  );

  it('that come with a follow-up are parts of its prompt, which needs no text', async () => {
    const runner = await start({
      assignment: { harness: { type: 'echo' }, prompt: 'Go.' },
      handover: { harnesses: echo() },
      prepare: stored,
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    plane.say('f1', '', { attachments: REFS });
    await plane.untilEvent('turn_ended', 2);
    expect(reported(plane)).toMatchObject([
      { type: 'text', text: 'Continue with the attached files.' },
      { type: 'resource_link', name: 'my notes.md' },
      { type: 'resource_link', name: 'dot.png' },
    ]);
  });

  it('that come with a follow-up and are in the assignment are placed and sent once', async () => {
    const runner = await start({
      assignment: {
        attachments: REFS,
        harness: { type: 'echo' },
        prompt: null,
        resume: { session_id: 'earlier', transcript: false },
      },
      handover: { harnesses: echo({ CAPABILITIES: '{"loadSession":true}', FORGETFUL: '1' }) },
      prepare: (plane) => {
        stored(plane);
        plane.say('f1', 'Look.', { attachments: REFS.slice(1) });
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(reported(runner.plane)).toMatchObject([
      { type: 'text', text: withToolNotice('Look.') },
      { type: 'resource_link', name: 'my notes.md' },
      { type: 'resource_link', name: 'dot.png' },
    ]);
  });

  it('that come with a follow-up follow no link that the agent has made, and the agent learns what is missing', async () => {
    const runner = await start({
      assignment: { harness: { type: 'echo' }, prompt: 'Go.' },
      handover: { harnesses: echo() },
      prepare: (plane) => void plane.storedAttachments.set('a1', Buffer.from(NOTES)),
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    const directory = join(runner.work, '../tmp/attachments');
    rmSync(directory, { recursive: true });
    symlinkSync(join(runner.work, '../home'), directory);
    plane.say('f1', 'Look.', { attachments: REFS });
    await plane.untilEvent('turn_ended', 2);
    const [{ text } = { text: '' }, ...others] = reported(plane) as { text: string }[];
    expect(others).toEqual([]);
    const [link, missing, ...message] = text.split('\n').filter((line) => line !== '');
    expect(link).toMatch(/^The attached file my notes\.md could not be stored in the workspace: E/);
    expect(missing).toContain('The attached file dot.png could not be stored in the workspace: The attachment dot.png');
    expect(message).toEqual(['Look.']);
    expect(existsSync(join(runner.work, '../home/my notes.md'))).toBe(false);
    expect(plane.data<TurnStarted>('turn_started')[1]).not.toHaveProperty('attachments');
  });

  it('that cannot be downloaded end the run before the agent starts', async () => {
    const runner = await start({ assignment: { attachments: REFS } });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'internal_error' });
    expect(runner.plane.finished?.message).toContain('my notes.md');
    expect(runner.plane.events('agent_started')).toHaveLength(0);
  });

  it('are requested until the control plane responds', async () => {
    const runner = await start({
      assignment: { attachments: REFS, prompt: fence('sh', 'ls "$HEADRACE_ATTACHMENTS_DIR"') },
      prepare: (plane) => {
        stored(plane);
        plane.fail('GET /attachments/a1', 503, 4);
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.calls()).toMatchObject([{ output: { output: 'dot.png\nmy notes.md\n' } }]);
  });

  it.each(['../outside', '/tmp/outside', '..', ''])(
    'stay in their directory when they are named %j',
    async (file_name) => {
      const runner = await start({
        assignment: { attachments: [{ attachment_id: 'a1', file_name, mime_type: 'text/plain', size_bytes: 1 }] },
        prepare: stored,
      });
      expect(await runner.exited).toBe(0);
      expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'internal_error' });
      expect(runner.plane.requests.some(({ call }) => call.startsWith('GET /attachments'))).toBe(false);
    },
  );
});

describe('a workspace without space', () => {
  it.skipIf(!isRoot)('delays the run until its files fit', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'headrace-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
    try {
      const content = Buffer.alloc(200_000, 'x');
      const ref = { attachment_id: 'a3', file_name: 'large.txt', mime_type: 'text/plain', size_bytes: content.length };
      const runner = await start({
        assignment: { attachments: [ref], prompt: fence('sh', 'wc -c < "$HEADRACE_ATTACHMENTS_DIR/large.txt"') },
        handover: { workspace_dir: join(disk, 'workspace') },
        prepare: (plane) => plane.storedAttachments.set('a3', content),
      });
      await vi.waitFor(() => expect(runner.logged).toMatch(/the set-up is retried.*ENOSPC/), 10_000);
      execFileSync('mount', ['-o', 'remount,size=4m', disk]);
      await runner.plane.untilEvent('turn_ended');
      expect(runner.plane.calls()).toMatchObject([{ output: { output: '200000\n' } }]);
      await runner.close();
    } finally {
      execFileSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true });
    }
  });
});

describe('a new run that continues a conversation', () => {
  const TEMPLATE = '{home}/.echo/sessions/{year}/{session_id}-*.jsonl';
  const RECORD = '{home}/.echo/sessions/2026/{id}-of-today.jsonl';

  it('continues in the session with its first prompt, without repeating the base prompt', async () => {
    const first = await start({ assignment: { base_prompt: 'Base.', prompt: fence('sh', 'echo before') } });
    await first.plane.untilEvent('turn_ended');
    const upload = first.plane.uploads.at(-1);
    await first.close();
    const second = await start({
      assignment: {
        base_prompt: 'Base.',
        prompt: fence('sh', 'echo after'),
        resume: { session_id: upload?.sessionId ?? '', transcript: true },
      },
      prepare: (plane) => {
        plane.storedTranscript = upload?.bytes ?? null;
      },
    });
    const { plane } = second;
    await plane.untilEvent('turn_ended');
    expect(plane.data('session_started')).toMatchObject([{ session_id: upload?.sessionId, resumed: true }]);
    expect(plane.calls().map(({ title }) => title)).toEqual(['echo after']);
    const record = plane.uploads.at(-1)?.bytes.toString() ?? '';
    expect(record).toMatch(/echo before[\s\S]*echo after/);
    expect(record.split('Base.')).toHaveLength(2);
  });

  it('requests the stored transcript until the control plane responds', async () => {
    const runner = await start({
      assignment: {
        harness: { type: 'echo' },
        prompt: 'Again.',
        resume: { session_id: 'echo-0001', transcript: true },
      },
      handover: {
        harnesses: echo(
          { RECORD: '{home}/.echo/{id}.jsonl', CAPABILITIES: '{"loadSession":true}' },
          '{home}/.echo/{session_id}.jsonl',
        ),
      },
      prepare: (plane) => {
        plane.storedTranscript = Buffer.from('{"prompt":"before"}\n');
        plane.fail('GET /transcript', 503, 4);
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.data('session_started')).toMatchObject([{ session_id: 'echo-0001', resumed: true }]);
  });

  it('starts a new session with the base prompt when the session cannot be resumed', async () => {
    const runner = await start({
      assignment: {
        base_prompt: 'Base.',
        prompt: fence('sh', 'echo after'),
        resume: { session_id: 'earlier', transcript: true },
      },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(plane.data('session_started')).toMatchObject([{ resumed: false }]);
    expect(plane.calls().map(({ title }) => title)).toEqual(['echo after']);
    expect(plane.uploads.at(-1)?.bytes.toString()).toContain('Base.');
  });

  it('uploads the session file of a third-party agent after the turn from any directory', async () => {
    const runner = await start({
      assignment: { harness: { type: 'echo' }, prompt: 'Hello.' },
      handover: { harnesses: echo({ RECORD }, TEMPLATE) },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(plane.uploads).toMatchObject([{ format: 'echo', sessionId: 'echo-0001' }]);
    expect(plane.uploads[0]?.bytes.toString()).toBe(
      `${JSON.stringify({ prompt: [{ type: 'text', text: withToolNotice('Hello.') }] })}\n`,
    );
    // After the upload: it is available when the end of the turn is visible.
    const calls = plane.requests.map(({ call, body }) => (body.includes('turn_ended') ? 'turn_ended' : call));
    expect(calls.indexOf('PUT /transcript')).toBeLessThan(calls.indexOf('turn_ended'));
    expect(await runner.close()).toBe(0);
  });

  it('restores the transcript of a third-party agent when its path is known', async () => {
    const runner = await start({
      assignment: {
        harness: { type: 'echo' },
        prompt: 'Again.',
        resume: { session_id: 'echo-0001', transcript: true },
      },
      handover: {
        harnesses: echo(
          { RECORD: '{home}/.echo/{id}.jsonl', CAPABILITIES: '{"loadSession":true}' },
          '{home}/.echo/{session_id}.jsonl',
        ),
      },
      prepare: (plane) => {
        plane.storedTranscript = Buffer.from('{"prompt":"before"}\n');
      },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(plane.data('session_started')).toMatchObject([{ session_id: 'echo-0001', resumed: true }]);
    expect(plane.uploads.at(-1)?.bytes.toString()).toMatch(/^\{"prompt":"before"\}\n\{"prompt":\[.*Again/);
  });
});
