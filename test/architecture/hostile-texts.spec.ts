import { expect, it } from 'vitest';
import { readSshKey } from '../../libs/platform/git/src/ssh-key.js';
import { withoutTokens } from '../../libs/domain/notifications/src/domain/decision-links.js';
import { quotation } from '../../libs/domain/answers/src/domain/untrusted-markdown.js';
import { readPrompt } from '../../libs/domain/automations/src/domain/placeholders.js';
import { readSlackMessage } from '../../libs/domain/automations/src/domain/slack-events/slack-event.js';
import { isShown } from '../../libs/domain/runs/src/domain/shown-request.js';
import { withoutInternals } from '../../libs/execution/runner/src/acp/shown-text.js';
import { headingOf } from '../../libs/execution/runner/src/artifacts/artifact-list.js';
import { plainPath } from '../../libs/execution/runner/src/git/ssh-command.js';
import { parsePrompt } from '../../libs/execution/runner/src/oz/instructions.js';
import { maskSecrets } from '#platform/kernel';

const SIZE = 262_144;
/** Milliseconds of processor time, with a margin for slow machines: each text takes seconds if it is read in quadratic time. */
const LIMIT = 250;
const ATTEMPTS = 3;

/** A text of 256 KB. */
const of = (start: string, repeated: string, end = ''): string =>
  start + repeated.repeat(Math.floor((SIZE - start.length - end.length) / repeated.length)) + end;

const slackEvent = (text: string) => ({
  type: 'event_callback',
  team_id: 'T061EG9R6',
  authorizations: [{ team_id: 'T061EG9R6', user_id: 'U0LAN0Z89' }],
  event: { type: 'app_mention', user: 'U061F7AUR', channel: 'C024BE91L', ts: '1515449522.000016', text },
});
const shown = (title: string): boolean =>
  isShown({ title, input: null, options: [] } as unknown as Parameters<typeof isShown>[0], { kind: 'allow' });
const block = (info: string, body = 'text'): string => `\`\`\`${info}\n${body}\n\`\`\``;

it.each<[string, () => unknown]>([
  ['mentions in Slack', () => readSlackMessage(slackEvent(of('', '<@U0LAN0Z89|')))],
  ['spaces and line breaks of a request', () => shown(of('', `${' '.repeat(190)}${'\u2028'.repeat(9)}a`))],
  ['line breaks of a request', () => shown(of('', `${`\u2028${' '.repeat(20)}`.repeat(9)}a`))],
  ['a line break before spaces of a request', () => shown(of('', `${'\u2028'.repeat(9)}${' '.repeat(190)}a`))],
  ['a stack frame without an end', () => withoutInternals(of('at ', '(index ', '>'))],
  ['a stack frame of Python', () => withoutInternals(of('File "', '", line 1', '\r'))],
  ['paths', () => withoutInternals(of('"', '/a', "'"))],
  ['a heading', () => headingOf(of('# ', '\t#', 'a'))],
  ['slashes at the end of a path', () => plainPath(of('a', '/', 'a'))],
  ['slashes at both ends of a path', () => plainPath(of('', '/'))],
  ['a fence', () => parsePrompt(of('', '`', '\u2028'))],
  ['spaces of an attribute', () => parsePrompt(block(of('write path=a', ' ', 'b')))],
  ['spaces behind words of an attribute', () => parsePrompt(block(of('write path=a', ' a', '\u2028')))],
  ['marks of a replacement', () => parsePrompt(block('replace path=a', of('<<<<<<<\n', '=======\n')))],
  ['hyphens of a key', () => readSshKey(of('-----BEGIN RSA PRIVATE KEY-----\nAAAA\n', '-')).catch(String)],
  [
    'few hyphens of a key',
    () => readSshKey(of('-----BEGIN RSA PRIVATE KEY-----\nAAAA\n', '-', '\n').slice(-16_000)).catch(String),
  ],
  ['schemes of URLs', () => maskSecrets(of('', 'a.'))],
  ['credentials in URLs', () => maskSecrets(of('', `aa://${'a'.repeat(200)}:${'a'.repeat(200)} `))],
  ['entities', () => quotation(of('', '&a'))],
  ['links to decisions', () => withoutTokens(of('', 'decisions%25'), [])],
  ['braces of a prompt', () => readPrompt(of('{{', ' {{'))],
])('reads in linear time: %s', async (_name, read) => {
  // Loads what is loaded for its first use.
  await readSshKey('').catch(String);
  let milliseconds = Number.POSITIVE_INFINITY;
  // The garbage of other tests is collected in the same time.
  for (let attempt = 0; attempt < ATTEMPTS && milliseconds >= LIMIT; attempt += 1) {
    const before = process.cpuUsage();
    await read();
    const { user, system } = process.cpuUsage(before);
    milliseconds = (user + system) / 1_000;
  }
  expect(milliseconds).toBeLessThan(LIMIT);
});
