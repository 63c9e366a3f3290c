import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatMessageOf, type RunOutcome } from './chat-message.js';
import { discordMessage } from './discord.js';
import { formatOf } from './notification-format.js';
import { slackMessage } from './slack.js';
import { teamsMessage } from './teams.js';

interface CardModule {
  AdaptiveCard: new () => { parse(card: object, context: object): void };
  SerializationContext: new (version: object) => { eventCount: number; getEventAt(index: number): { message: string } };
  Versions: { v1_4: object };
}
/** Microsoft's own reader of cards. */
const cards = createRequire(import.meta.url)('adaptivecards/dist/adaptivecards.js') as CardModule;

const DATA = {
  run_id: '01936f0e-7c6b-7a3e-9a53-0d3f5f7f1a11',
  state: 'SUCCEEDED',
  title: 'Fix the failing test',
  source: 'API',
  session_link: 'https://headrace.example.com/runs/01936f0e-7c6b-7a3e-9a53-0d3f5f7f1a11',
  trigger_url: 'https://github.com/acme/shop/issues/7',
};
const OUTCOME: RunOutcome = {
  result: 'The test passes now.',
  runTimeMs: 135_000,
  costUsd: 0.4,
  artifacts: [
    { type: 'PULL_REQUEST', title: 'Fix it', url: 'https://github.com/acme/shop/pull/8' },
    { type: 'FILE', title: 'report.txt', url: null },
  ],
};
const FAILED = { ...DATA, state: 'FAILED', status_message: { message: 'It broke.', error_code: 'agent_failed' } };
const BLOCKED = {
  ...DATA,
  state: 'BLOCKED',
  approval: { title: 'git push', link: 'https://headrace.example.com/console/inbox?item=1/2' },
};

const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : [];

interface SlackBlock {
  type: string;
  text?: { type: string; text: string };
  fields?: { text: string }[];
}
function expectSlackRules(message: object): void {
  const { text, blocks } = message as { text: string; blocks: SlackBlock[] };
  expect(text.length).toBeGreaterThan(0);
  expect(blocks.length).toBeLessThanOrEqual(50);
  for (const { type, text: body, fields = [] } of blocks) {
    if (body) {
      expect(body.text.length).toBeGreaterThan(0);
      expect(body.text.length).toBeLessThanOrEqual(type === 'header' ? 150 : 3000);
    }
    expect(fields.length).toBeLessThanOrEqual(10);
    for (const field of fields) expect(field.text.length).toBeLessThanOrEqual(2000);
  }
}

interface Embed {
  title: string;
  url?: string;
  description?: string;
  fields: { name: string; value: string }[];
}
function expectDiscordRules(message: object): void {
  const {
    content,
    embeds,
    allowed_mentions: mentions,
  } = message as {
    content: string;
    embeds: [Embed];
    allowed_mentions: object;
  };
  expect(mentions).toEqual({ parse: [] });
  const [{ title, description = '', fields }] = embeds;
  expect(title.length).toBeLessThanOrEqual(256);
  expect(description.length).toBeLessThanOrEqual(4096);
  expect(fields.length).toBeLessThanOrEqual(25);
  for (const { name, value } of fields) {
    expect(name.length).toBeGreaterThan(0);
    expect(name.length).toBeLessThanOrEqual(256);
    expect(value.length).toBeGreaterThan(0);
    expect(value.length).toBeLessThanOrEqual(1024);
  }
  expect(
    [content, title, description, ...fields.flatMap(({ name, value }) => [name, value])].join('').length,
  ).toBeLessThanOrEqual(6000);
}

function expectTeamsRules(message: object): void {
  expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThanOrEqual(28_000);
  const { attachments } = message as { attachments: [{ contentType: string; content: object }] };
  expect(attachments[0].contentType).toBe('application/vnd.microsoft.card.adaptive');
  const context = new cards.SerializationContext(cards.Versions.v1_4);
  new cards.AdaptiveCard().parse(attachments[0].content, context);
  expect(Array.from({ length: context.eventCount }, (_, index) => context.getEventAt(index).message)).toEqual([]);
}

describe('messages of chat services', () => {
  const message = chatMessageOf('run.succeeded', DATA, OUTCOME);

  it('say what a run has made, how long it took, what it cost, and where it is', () => {
    expect(message).toEqual({
      heading: 'Run succeeded',
      tone: 'good',
      title: 'Fix the failing test',
      url: DATA.session_link,
      text: 'The test passes now.',
      facts: [
        ['Duration', '2 min 15 s'],
        ['Cost', '$0.40'],
        ['Artifacts', '1'],
        ['Source', 'API'],
      ],
      links: [
        { title: 'github.com: Fix it', url: 'https://github.com/acme/shop/pull/8' },
        { title: 'Run', url: DATA.session_link },
        { title: 'Trigger', url: DATA.trigger_url },
      ],
    });
  });

  it('say why a run has failed, and what a run waits for', () => {
    const failed = chatMessageOf('run.failed', FAILED, { ...OUTCOME, result: null });
    expect(failed).toMatchObject({ heading: 'Run failed', tone: 'bad', text: 'It broke.' });
    expect(failed.facts[0]).toEqual(['Error', 'agent_failed']);
    const blocked = chatMessageOf('run.blocked', BLOCKED, OUTCOME);
    expect(blocked).toMatchObject({ heading: 'Run waits for a decision', tone: 'waiting', text: 'git push' });
    expect(blocked.links[0]).toEqual({ title: 'Decide', url: BLOCKED.approval.link });
    const question = { ...BLOCKED, approval: { ...BLOCKED.approval, kind: 'question' } };
    const asked = chatMessageOf('run.blocked', question, OUTCOME);
    expect([asked.heading, asked.links[0]?.title]).toEqual(['Run asks a question', 'Answer']);
  });

  it('have the shape of each service', () => {
    expect(slackMessage(message)).toMatchObject({
      text: 'Run succeeded: Fix the failing test',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Run succeeded' } },
        { type: 'section', text: { text: `*<${DATA.session_link}|Fix the failing test>*` } },
        { type: 'section', text: { text: 'The test passes now.' } },
        { type: 'section', fields: [{ text: '*Duration*\n2 min 15 s' }, {}, {}, {}] },
        { type: 'section', text: { text: '<https://github.com/acme/shop/pull/8|github.com: Fix it>' } },
        {},
        {},
      ],
    });
    expect(discordMessage(message)).toMatchObject({
      content: 'Run succeeded',
      embeds: [{ title: 'Fix the failing test', url: DATA.session_link, description: 'The test passes now.' }],
    });
    expect(teamsMessage(message)).toMatchObject({
      type: 'message',
      attachments: [{ content: { body: [{ text: 'Run succeeded', color: 'Good' }, {}, {}, { type: 'FactSet' }] } }],
    });
  });

  it('name the host of a link to an artifact before a title that can be of any length', () => {
    const url = `https://${'a.'.repeat(60)}attacker.example/x`;
    const title = `https://github.com/acme/shop/pull/8 \u202E${'x'.repeat(500)}`;
    const outcome = { ...OUTCOME, artifacts: [{ type: 'EXTERNAL_REFERENCE', title, url }] };
    const said = chatMessageOf('run.succeeded', DATA, outcome);
    for (const message of [slackMessage(said), discordMessage(said), teamsMessage(said)]) {
      const text = JSON.stringify(message).replaceAll('\\\\', '');
      expect(text).toMatch(/[|["]…[a.]{40,60}attacker\.example: https:\/\/github\.com/);
      expect(text).not.toContain('\u202E');
    }
  });

  it('keep the rules of each service for texts of strangers, which contain no link, no mention and no date', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.constantFrom(
        '<!channel> <@U1> <https://attacker.example|click>',
        '@everyone [click](https://attacker.example) <@1> \\[x](y)',
        '&<>'.repeat(5000),
        '[]'.repeat(9000),
        '😀'.repeat(9000),
        '\n',
        '',
        '"\\'.repeat(9000),
        '\u0001'.repeat(9000),
      ),
    );
    const url = fc.constantFrom(
      'https://a.example/x|y>z',
      'https://a.example/(a)',
      `https://a.example/${'x'.repeat(5000)}`,
    );
    fc.assert(
      fc.property(hostile, hostile, hostile, url, (title, result, label, address) => {
        const outcome = { ...OUTCOME, result, artifacts: [{ type: 'PULL_REQUEST', title: label, url: address }] };
        const said = chatMessageOf('run.failed', { ...FAILED, title, status_message: { message: result } }, outcome);
        const [slack, discord, teams] = [slackMessage(said), discordMessage(said), teamsMessage(said)];
        expectSlackRules(slack);
        expectDiscordRules(discord);
        expectTeamsRules(teams);
        for (const text of textsIn(slack)) expect(text).not.toMatch(/<(?!https:\/\/(?:headrace|a|github)\.)/);
        const [embed] = (discord as { embeds: [Embed] }).embeds;
        for (const text of [embed.title, embed.description ?? '']) expect(text).not.toMatch(/(?<!\\)(?:\\\\)*[[<]/);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the format of a webhook', () => {
  it.each([
    ['https://hooks.slack.com/services/T/B/x', 'slack'],
    ['https://discord.com/api/webhooks/1/x', 'discord'],
    ['https://discord.com/api/webhooks/1/x/slack', 'json'],
    ['https://prod-01.westeurope.logic.azure.com:443/workflows/x', 'teams'],
    ['https://acme.webhook.office.com/webhookb2/x', 'teams'],
    ['https://hooks.slack.com.attacker.example/services', 'json'],
    ['https://example.com/hook', 'json'],
  ])('of %s is %s', (url, format) => {
    expect(formatOf(url)).toBe(format);
  });
});
