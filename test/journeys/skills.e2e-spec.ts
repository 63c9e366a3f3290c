import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { Installation, type Program } from '../support/installation.js';
import { fence, prompt } from '../runner/runner-process.js';

const SKILL = `---
name: greet
description: Greets people.
---

# Greeting

\`\`\`sh
printf 'Hello %s, and %s' "$0" "$1" > greeting.txt
\`\`\`

\`\`\`sh
cat greeting.txt; echo "; asked for: <$ARGUMENTS>; $9"
\`\`\`
`;
const SPEC = 'acme/tools:.agents/skills/greet/SKILL.md';

const root = mkdtempSync(join(tmpdir(), 'headrace-skill-journey-'));
let installation: Installation;
let server: Program;

beforeAll(async () => {
  new GitFixture(join(root, 'acme/tools.git')).commit({ '.agents/skills/greet/SKILL.md': SKILL });
  installation = await Installation.create({ GITHUB_URL: root, GIT_LOCAL_ROOTS: root });
  server = await installation.up();
});
afterAll(async () => {
  await server.stopCleanly('SIGINT');
  installation.remove();
  rmSync(root, { recursive: true, force: true });
});

interface Message {
  readonly role: string;
  readonly content: readonly Record<string, unknown>[];
}

async function messagesOf(runId: string): Promise<Message[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
  return (body.steps as { messages: Message[] }[]).flatMap(({ messages }) => messages);
}

it('executes a skill of a repository with the built-in agent and passes the prompt as its arguments', async () => {
  const { body: created, status } = await installation.call('POST', '/agent/runs', {
    skill: 'acme/tools:greet',
    prompt: 'Ada "Mary Shelley"',
  });
  expect(status).toBe(200);
  const run = await installation.waitFor(created.run_id as string, ['SUCCEEDED', 'FAILED', 'ERROR']);
  expect(run).toMatchObject({
    state: 'SUCCEEDED',
    prompt: 'Ada "Mary Shelley"',
    agent_config: { name: 'greet', skill_spec: SPEC },
    agent_skill: { name: 'greet', description: 'Greets people.', full_path: SPEC },
  });

  const messages = await messagesOf(created.run_id as string);
  const blocks = messages.flatMap(({ content }) => content);
  expect(messages.find(({ role }) => role === 'user')?.content).toMatchObject([
    { type: 'text', text: 'Ada "Mary Shelley"' },
  ]);
  const results = blocks.filter(({ type }) => type === 'action_result');
  expect(results).toMatchObject([
    { name: 'run_command', state: 'completed' },
    {
      name: 'run_command',
      state: 'completed',
      output: { output: 'Hello Ada, and Mary Shelley; asked for: <Ada Mary Shelley>; \n' },
    },
  ]);

  const { body: listed } = await installation.call('GET', '/agent?repo=acme/tools');
  expect(listed.agents).toMatchObject([
    { name: 'greet', variants: [{ id: SPEC, last_run_timestamp: run.created_at as string }] },
  ]);
  const { body: found } = await installation.call('GET', '/agent/runs?skill=acme/tools:greet');
  expect(found.runs).toMatchObject([{ run_id: created.run_id as string }]);
});

it('reports, but does not execute, a skill that the built-in agent reads in its workspace', async () => {
  const skillPath = '.agents/skills/greet/SKILL.md';
  const id = await installation.createRun(
    prompt(
      `~~~~write path=${skillPath}\n${SKILL}~~~~`,
      fence(`read path=${skillPath}`),
      fence('read path=missing/SKILL.md'),
      fence('sh', 'ls greeting.txt'),
      fence('read path=.agents/../.agents/skills/greet/SKILL.mdx'),
    ),
  );
  expect(await installation.waitFor(id, ['SUCCEEDED', 'FAILED', 'ERROR'])).toMatchObject({ state: 'SUCCEEDED' });
  const blocks = (await messagesOf(id)).flatMap(({ content }) => content);
  const skill = { category: 'skill', name: 'read_skill' };
  expect(blocks.filter(({ type, name }) => type === 'action' && name !== 'edit_files')).toMatchObject([
    { ...skill, input: { skill_path: skillPath } },
    { ...skill, input: { skill_path: 'missing/SKILL.md' } },
    { category: 'command' },
    { category: 'files', name: 'read_files' },
  ]);
  expect(blocks.filter(({ type, name }) => type === 'action_result' && name !== 'edit_files')).toMatchObject([
    { ...skill, state: 'completed' },
    { ...skill, state: 'failed' },
    { state: 'failed' },
    { state: 'failed' },
  ]);
  expect(JSON.stringify(blocks.find(({ type, name }) => type === 'action_result' && name === 'read_skill'))).toContain(
    'Greets people.',
  );
});
