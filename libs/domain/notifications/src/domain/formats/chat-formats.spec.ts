import type { RESTPostAPIWebhookWithTokenJSONBody } from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { discordViolations, type SlackBlock, slackViolations, teamsViolations } from '#testing';
import { type ChatMessage, chatMessageOf, type DecisionButton, type RunOutcome } from './chat-message.js';
import { discordMessage, withComponents } from './discord.js';
import { formatOf } from './notification-format.js';
import { slackMessage } from './slack.js';
import { teamsMessage } from './teams.js';

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

/** The compiler compares the payloads with the types that the services publish. */
function expectRules(message: ChatMessage): void {
  const slack: { text: string; blocks: SlackBlock[] } = slackMessage(message);
  const discord: RESTPostAPIWebhookWithTokenJSONBody = discordMessage(message);
  expect(slackViolations(slack)).toEqual([]);
  expect(discordViolations(discord)).toEqual([]);
  expect(teamsViolations(teamsMessage(message))).toEqual([]);
}

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
    '\u200b\u2060\ufeff'.repeat(50),
    '\u202eallow\u202c',
    'half \ud83d of a pair',
  ),
);

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
      buttons: [],
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
    const url = fc.constantFrom(
      'https://a.example/x|y>z',
      'https://a.example/(a)',
      `https://a.example/${'x'.repeat(5000)}`,
    );
    fc.assert(
      fc.property(hostile, hostile, hostile, url, (title, result, label, address) => {
        const outcome = { ...OUTCOME, result, artifacts: [{ type: 'PULL_REQUEST', title: label, url: address }] };
        const said = chatMessageOf('run.failed', { ...FAILED, title, status_message: { message: result } }, outcome);
        expectRules(said);
        for (const text of textsIn(slackMessage(said)))
          expect(text).not.toMatch(/<(?!https:\/\/(?:headrace|a|github)\.)/);
        const [embed] = discordMessage(said).embeds;
        for (const text of [embed?.title ?? '', embed?.description ?? ''])
          expect(text).not.toMatch(/(?<!\\)(?:\\\\)*[[<]/);
      }),
      { numRuns: 300 },
    );
  });
});

describe('buttons that decide', () => {
  const urlOf = (length: number): string => `https://headrace.example.com/decisions/${'A'.repeat(length - 39)}`;
  const button = (label: string, tone: DecisionButton['tone'] = 'neutral'): DecisionButton => ({
    label,
    tone,
    url: urlOf(220),
  });
  const PERMISSION = [button('Allow', 'good'), button('Deny', 'bad')];

  it('are link buttons in the shape of each service', () => {
    const message = chatMessageOf('run.blocked', BLOCKED, null, PERMISSION);
    expectRules(message);
    const [url] = PERMISSION.map((one) => one.url);
    expect(slackMessage(message).blocks[3]).toEqual({
      type: 'actions',
      elements: [
        {
          type: 'button',
          action_id: 'decision_0',
          text: { type: 'plain_text', text: 'Allow', emoji: false },
          url,
          style: 'primary',
        },
        {
          type: 'button',
          action_id: 'decision_1',
          text: { type: 'plain_text', text: 'Deny', emoji: false },
          url,
          style: 'danger',
        },
      ],
    });
    expect(discordMessage(message).components).toEqual([
      {
        type: 1,
        components: [
          { type: 2, style: 5, label: 'Allow', url },
          { type: 2, style: 5, label: 'Deny', url },
        ],
      },
    ]);
    expect(teamsMessage(message)).toMatchObject({
      attachments: [
        {
          content: {
            body: [
              {},
              {},
              {},
              {
                type: 'ActionSet',
                actions: [
                  { type: 'Action.OpenUrl', title: 'Allow', url, style: 'positive' },
                  { type: 'Action.OpenUrl', title: 'Deny', url, style: 'destructive' },
                ],
              },
              {},
            ],
          },
        },
      ],
    });
  });

  it('are not in a message without a decision', () => {
    const message = chatMessageOf('run.blocked', BLOCKED, null);
    expect(slackMessage(message).blocks.filter(({ type }) => type === 'actions')).toEqual([]);
    expect(discordMessage(message)).not.toHaveProperty('components');
    expect(JSON.stringify(teamsMessage(message))).not.toContain('ActionSet');
  });

  it('are left out where their URL is longer than a service accepts', () => {
    const long = { ...button('Allow'), url: urlOf(900) };
    const message = chatMessageOf('run.blocked', BLOCKED, null, [long]);
    expectRules(message);
    expect(slackMessage(message).blocks.filter(({ type }) => type === 'actions')).toHaveLength(1);
    expect(discordMessage(message)).not.toHaveProperty('components');
  });

  it('keep the rules of each service for options, titles and requests of strangers', () => {
    const buttons = fc.array(
      fc.record({
        label: fc.tuple(hostile, fc.constant(' x')).map(([text, visible]) => text + visible),
        tone: fc.constantFrom<DecisionButton['tone']>('neutral'),
        url: fc.integer({ min: 60, max: 900 }).map(urlOf),
      }),
      { maxLength: 11 },
    );
    fc.assert(
      fc.property(hostile, hostile, buttons, fc.boolean(), (title, request, options, isQuestion) => {
        const approval = { ...BLOCKED.approval, title: request, ...(isQuestion && { kind: 'question' }) };
        const data = { ...BLOCKED, title, approval, trigger_url: urlOf(990) };
        const message = chatMessageOf('run.blocked', data, null, isQuestion ? options : PERMISSION);
        expectRules(message);
        for (const text of textsIn(slackMessage(message)))
          expect(text).not.toMatch(/<(?!https:\/\/(?:headrace|a|github)\.)/);
        for (const text of textsIn([slackMessage(message), discordMessage(message), teamsMessage(message)]))
          expect(text.isWellFormed()).toBe(true);
        const labels = textsIn([discordMessage(message), slackMessage(message), teamsMessage(message)]).join();
        expect(labels).not.toMatch(/[\u202A-\u202E]/);
      }),
      { numRuns: 300 },
    );
  });

  it('need a parameter of the address at Discord', () => {
    expect(withComponents('https://discord.com/api/webhooks/1/x')).toBe(
      'https://discord.com/api/webhooks/1/x?with_components=true',
    );
    expect(withComponents('https://discord.com/api/webhooks/1/x?thread_id=7')).toBe(
      'https://discord.com/api/webhooks/1/x?thread_id=7&with_components=true',
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
