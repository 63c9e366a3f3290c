import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FactorySkillsModule } from '#domain/definitions';
import { newUid } from '#platform/kernel';
import { DeliveryBuilder } from '#testing';
import { type FiringProcess, startFiring } from '../automations/firing-process.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { FACTORY, entryOf } from './definition-plans.js';

const skill = (name: string, body: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`;

let fixture: ApiFixture;
let processor: FiringProcess;
let factory: string;
let hook: string;
let fixer: string;
let foreman: string;

const definition = (logs: string) => ({
  'factory.yaml': FACTORY,
  'webhooks/ci.yaml': 'secretName: ci-secret\n',
  'agents/fixer/agent.md': '---\n---\nYou fix.\n',
  'agents/fixer/skills/dig/SKILL.md': skill('dig', 'Dig for $ARGUMENTS'),
  'agents/fixer/skills/logs/SKILL.md': skill('logs', 'The fixer’s way.'),
  'agents/foreman/agent.md': '---\nskills: [":split", logs]\n---\nYou lead.\n',
  'agents/foreman/skills/split/SKILL.md': skill('split', 'Split the work.'),
  'skills/logs/SKILL.md': skill('logs', logs),
  'skills/deep/nested/SKILL.md': 'Without front matter.\n',
  'skills/review/SKILL.md': skill('review-changes', 'Ours, not the one that ships.'),
});

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  processor = await startFiring(fixture.api.settings, [FactorySkillsModule]);
  await fixture.putSecret('ci-secret', 'swordfish-1');
  factory = await fixture.createFactory();
  const plan = await fixture.applyDefinition(factory, definition('Read from the end.'));
  hook = entryOf(plan, 'webhook', 'ci').uid ?? '';
  fixer = entryOf(plan, 'agent', 'fixer').uid ?? '';
  foreman = entryOf(plan, 'agent', 'foreman').uid ?? '';
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
});

const runOf = async (id: string) =>
  (await fixture.request(200, `GET /agent/runs/${id}`, { token: fixture.member.token })).body;
const start = async (body: object, status = 200) =>
  (await fixture.request(status, 'POST /agent/runs', { token: fixture.member.token, body })).body;
const idOf = (path: string): string => `headrace/${factory}:${path}`;

/** Makes an automation and has a delivery start it: the run, or why there is none. */
async function fire(name: string, fields: object) {
  const { api, admin } = fixture;
  const { token } = admin;
  const filter = { webhook_ids: [hook], payload: { to: [name] } };
  const body = {
    name,
    enabled: true,
    prompt: 'the parser',
    triggers: [{ provider: 'webhook', event: 'received', filter }],
    ...fields,
  };
  const { uid } = (await api.request(201, `POST /factories/${factory}/automations`, { token, body })).body;
  const [row] = await api.database.query<{ id: string }>('SELECT id FROM headrace.webhooks WHERE uid = $1', [hook]);
  const { id } = await new DeliveryBuilder(api.database).build(row?.id ?? '', { body: JSON.stringify({ to: name }) });
  await processor.evaluateAll();
  const line = `GET /factories/${factory}/webhooks/${hook}/deliveries/${id}`;
  const { automation_results: results } = (await api.request(200, line, { token })).body;
  const result = results.find((one: { automation_uid: string }) => one.automation_uid === uid);
  return result.run_id === undefined ? result : runOf(result.run_id as string);
}

describe('runs that automations start', () => {
  it.each([
    ['a name', ':logs'],
    ['a path', ':skills/logs/SKILL.md'],
    ['a directory', ':skills/logs'],
  ])('find a skill of the definition by %s', async (name, skill_spec) => {
    expect(await fire(name, { agent_config: { skill_spec } })).toMatchObject({
      agent_config: { base_prompt: 'Read from the end.', skill_spec: idOf('skills/logs/SKILL.md') },
      agent_skill: { name: 'logs', description: 'Does logs.', full_path: idOf('skills/logs/SKILL.md') },
      metadata: { factory_uid: factory },
    });
  });

  it('find the skills of their agent first, and pass arguments to them', async () => {
    const fields = { agent_identity_uid: fixer, agent_config: { skills: ['logs', 'dig', 'nested'] } };
    const run = await fire('fixer', fields);
    expect(run.agent_config).toMatchObject({
      base_prompt:
        'You fix.\n\n# Skill: logs\n\nThe fixer’s way.\n\n# Skill: dig\n\nDig for the parser\n\n# Skill: nested\n\nWithout front matter.',
      skills: ['agents/fixer/skills/logs', 'agents/fixer/skills/dig', 'skills/deep/nested'].map((directory) =>
        idOf(`${directory}/SKILL.md`),
      ),
    });
  });

  it('find a skill of another agent by its path only', async () => {
    expect(await fire('no-agent', { agent_config: { skill_spec: ':dig' } })).toMatchObject({
      matched: true,
      reason: expect.stringMatching(/No run was started: config\.skill_spec names no skill/),
    });
    const run = await fire('path', { agent_config: { skill_spec: ':agents/fixer/skills/dig/SKILL.md' } });
    expect(run.agent_skill).toMatchObject({ name: 'dig' });
  });

  it('prefer a skill of the definition to a built-in skill with the same name', async () => {
    const run = await fire('ours', { agent_config: { skill_spec: ':review-changes' } });
    expect(run.agent_config).toMatchObject({ base_prompt: 'Ours, not the one that ships.' });
    const shipped = await fire('theirs', { agent_config: { skill_spec: 'bundled:review-changes' } });
    expect(shipped.agent_skill).toMatchObject({ bundled_skill_id: 'review-changes' });
  });
});

it('a foreman has the skills of its file, and its runs have the skills of the factory', async () => {
  const { token } = fixture.admin;
  const dispatched = await fixture.request(200, `POST /factory/${factory}/runs`, { token, body: { prompt: 'Go.' } });
  const { run_id: parent_run_id } = dispatched.body;
  expect(await runOf(parent_run_id)).toMatchObject({
    agent_config: {
      base_prompt: 'You lead.\n\n# Skill: split\n\nSplit the work.\n\n# Skill: logs\n\nRead from the end.',
    },
    executor: { uid: foreman },
    agent_skill: { full_path: idOf('agents/foreman/skills/split/SKILL.md') },
  });
  const { run_id } = await start({ prompt: 'Continue.', skill: 'logs', parent_run_id });
  expect((await runOf(run_id)).agent_config).toMatchObject({ base_prompt: 'Read from the end.' });
});

it('an agent has its skills in every environment', async () => {
  const { run_id } = await start({ prompt: 'Go.', agent_identity_uid: foreman });
  expect((await runOf(run_id)).agent_config).toMatchObject({
    skills: [idOf('agents/foreman/skills/split/SKILL.md'), idOf('skills/logs/SKILL.md')],
  });
  const other = await fixture.createFactory();
  const files = { 'factory.yaml': FACTORY, 'skills/logs/SKILL.md': skill('logs', 'The other factory’s way.') };
  await fixture.applyDefinition(other, files);
  const lent = await start({ prompt: 'Go.', agent_identity_uid: foreman, metadata: { factory_uid: other } });
  expect((await runOf(lent.run_id)).agent_config).toMatchObject({
    skills: [idOf('agents/foreman/skills/split/SKILL.md'), `headrace/${other}:skills/logs/SKILL.md`],
  });
});

it('every run of the team finds skills by the full spec, and keeps their content', async () => {
  const spec = idOf('skills/logs/SKILL.md');
  const { run_id } = await start({ prompt: 'Go.', skill: spec });
  await fixture.applyDefinition(factory, definition('Read from the beginning.'));
  expect((await runOf(run_id)).agent_config).toMatchObject({ base_prompt: 'Read from the end.' });
  const again = await start({ prompt: 'Go.', skill: idOf('logs') });
  expect((await runOf(again.run_id)).agent_config).toMatchObject({ base_prompt: 'Read from the beginning.' });
  await fixture.applyDefinition(factory, definition('Read from the end.'));
  const { runs } = (
    await fixture.request(200, `GET /agent/runs?skill=${encodeURIComponent(spec)}`, {
      token: fixture.member.token,
    })
  ).body;
  expect(runs.map((run: { run_id: string }) => run.run_id)).toContain(run_id);
});

it('a run outside of the factory does not find its skills by name, and another team by no spec', async () => {
  for (const skill of [':logs', ':skills/logs/SKILL.md', idOf('losg')])
    expect(await start({ prompt: 'Go.', skill }, 400)).toMatchObject({ errors: [{ pointer: '/skill' }] });
  expect((await start({ prompt: 'Go.', skill: idOf('losg') }, 400)).detail).toContain(idOf('skills/logs/SKILL.md'));
  await start({ prompt: 'Go.', skill: idOf('logs'), team: false }, 400);
  const stranger = { prompt: 'Go.', metadata: { factory_uid: factory } };
  const { token } = fixture.stranger;
  for (const skill of [idOf('logs'), idOf('skills/logs/SKILL.md'), ':logs']) {
    const { body } = await fixture.request(400, 'POST /agent/runs', { token, body: { ...stranger, skill } });
    expect(JSON.stringify(body)).not.toContain('skills/logs');
  }
  for (const label of ['x', '../x', newUid()])
    await start({ prompt: 'Go.', skill: ':logs', metadata: { factory_uid: label } }, 400);
});

it('an agent’s skills are compared, exported and checked like the rest of its file', async () => {
  const files = definition('Read from the end.');
  expect((await fixture.applyDefinition(factory, files)).summary).toMatchObject({ create: 0, update: 0, delete: 0 });
  const { token } = fixture.admin;
  await fixture.request(200, `PUT /agent/identities/${fixer}`, { token, body: { skills: ['dig'] } });
  expect(entryOf(await fixture.planDefinition(factory, files), 'agent', 'fixer')).toMatchObject({
    action: 'update',
    changes: ['skills'],
    drifted: true,
  });
  const exported = await fixture.exportDefinition(factory);
  expect(exported['agents/fixer/agent.md']).toContain('skills:\n  - dig\n');
  expect((await fixture.applyDefinition(factory, exported)).summary).toMatchObject({ update: 0 });
  await fixture.applyDefinition(factory, files);
  const many = Array.from({ length: 17 }, (_, index) => `s${index}`).join(', ');
  for (const skills of [`[${many}]`, '[" "]', '[7]', 'logs']) {
    const wrong = { ...files, 'agents/fixer/agent.md': `---\nskills: ${skills}\n---\n` };
    const { diagnostics } = await fixture.applyDefinition(factory, wrong, 400);
    expect(diagnostics).toMatchObject([{ path: 'agents/fixer/agent.md', line: 2 }]);
  }
});
