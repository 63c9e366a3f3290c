import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import type { TurnStarted } from '#execution/runner-protocol';
import { RunnerProcess, withToolNotice } from './runner-process.js';

const runners: RunnerProcess[] = [];
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

it.each([true, false])(
  'a run that continues the session of another passes its skill (%s) to the agent, with the first prompt only',
  async (skill) => {
    const runner = await RunnerProcess.start({
      assignment: {
        harness: { type: 'echo' },
        base_prompt: 'The skill.',
        prompt: 'Continue.',
        resume: { session_id: 'earlier', transcript: false, ...(skill ? { skill } : {}) },
      },
      handover: {
        harnesses: {
          echo: {
            command: process.execPath,
            args: [fileURLToPath(new URL('echo-agent.mjs', import.meta.url))],
            env: { CAPABILITIES: '{"loadSession":true}' },
            install_hint: '',
          },
        },
      },
      prepare: (plane) => plane.say('f1', 'And continue.'),
    });
    runners.push(runner);
    const { plane } = runner;
    await plane.untilEvent('turn_ended', 2);
    expect(plane.data('session_started')).toMatchObject([{ resumed: true }]);
    expect(plane.data<TurnStarted>('turn_started').map(({ prompt }) => prompt)).toEqual(['Continue.', 'And continue.']);
    const reported = plane.data<{ text: string }>('message_chunk').map(({ text }) => JSON.parse(text) as unknown);
    expect(reported).toEqual([
      [{ type: 'text', text: skill ? `The skill.\n\n${withToolNotice('Continue.')}` : 'Continue.' }],
      [{ type: 'text', text: 'And continue.' }],
    ]);
  },
);
