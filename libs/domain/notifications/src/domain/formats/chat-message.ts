import { maskSecrets, parseUrl, withoutHidden } from '#platform/kernel';
import { TEST_TYPE } from '../notification-webhook.js';
import { pageOfTrigger } from './trigger-page.js';

/** What a message of a chat service says, before it has the shape of one. All texts may come from an agent or another stranger. */
export interface ChatMessage {
  readonly heading: string;
  readonly tone: 'good' | 'bad' | 'waiting' | 'neutral';
  readonly title: string;
  /** The page that the title links; null: none. */
  readonly url: string | null;
  /** The result, the reason of a failure, or what the run waits for. */
  readonly text: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly links: readonly { readonly title: string; readonly url: string }[];
  readonly buttons: readonly DecisionButton[];
}

/** A link to a page that decides what the run waits for. */
export interface DecisionButton {
  /** In one line. An option of a question is a text of the agent. */
  readonly label: string;
  readonly url: string;
  readonly tone: 'good' | 'bad' | 'neutral';
}

/** What a run has made until a position of its log. */
export interface RunOutcome {
  /** The last message of the agent; null: none. */
  readonly result: string | null;
  /** Milliseconds. */
  readonly runTimeMs: number;
  readonly costUsd: number | null;
  /** The newest ones first. */
  readonly artifacts: readonly { readonly type: string; readonly title: string | null; readonly url: string | null }[];
}

type Fields = Readonly<Record<string, unknown>>;

interface Presentation {
  readonly heading: string;
  readonly tone: ChatMessage['tone'];
}

const OF_STATES: Readonly<Record<string, Presentation>> = {
  SUCCEEDED: { heading: 'Run succeeded', tone: 'good' },
  FAILED: { heading: 'Run failed', tone: 'bad' },
  ERROR: { heading: 'Run failed because of an error of the platform', tone: 'bad' },
  CANCELLED: { heading: 'Run cancelled', tone: 'neutral' },
  BLOCKED: { heading: 'Run waits for a decision', tone: 'waiting' },
};

const QUESTION: Presentation = { heading: 'Run asks a question', tone: 'waiting' };

const MAX_LINKS = 5;
/** They can show a text in another order than it has. */
const DIRECTION = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
/** Apart from those that text has. JSON needs six bytes for each, and no service shows them. */
const CONTROL = /[^\P{Cc}\t\n\r]/gu;

/** `given`: of the message in JSON. */
export function chatMessageOf(
  type: string,
  given: Fields,
  outcome: RunOutcome | null,
  buttons: readonly DecisionButton[] = [],
): ChatMessage {
  const data = maskSecrets(given) as Fields;
  if (type === TEST_TYPE) {
    const title = `Notifications of the webhook ${textOf(data, 'webhook_name')} arrive here.`;
    return { heading: 'Test message', tone: 'neutral', title, url: null, text: '', facts: [], links: [], buttons: [] };
  }
  const state = textOf(data, 'state');
  const presentation = isQuestion(data)
    ? QUESTION
    : (OF_STATES[state] ?? { heading: `Run is ${state}`, tone: 'neutral' });
  const runId = textOf(data, 'run_id');
  return {
    ...presentation,
    title: inOneLine(textOf(data, 'title')) || runId,
    url: textOf(data, 'session_link'),
    text: bodyOf(state, data, outcome).toWellFormed().replace(CONTROL, '\uFFFD'),
    facts: factsOf(data, outcome),
    links: linksOf(data, outcome),
    buttons,
  };
}

const isQuestion = (data: Fields): boolean => textOf(fieldsOf(data, 'approval'), 'kind') === 'question';

function bodyOf(state: string, data: Fields, outcome: RunOutcome | null): string {
  // A person decides by this text.
  if (state === 'BLOCKED') return withoutHidden(textOf(fieldsOf(data, 'approval'), 'title'));
  const reason = textOf(fieldsOf(data, 'status_message'), 'message');
  return [reason, outcome?.result ?? ''].filter((part) => part.trim() !== '').join('\n\n');
}

function factsOf(data: Fields, outcome: RunOutcome | null): (readonly [string, string])[] {
  const code = textOf(fieldsOf(data, 'status_message'), 'error_code');
  const files = outcome?.artifacts.filter(({ url }) => url === null).length ?? 0;
  return [
    ...(code === '' ? [] : [['Error', code] as const]),
    ...(outcome === null ? [] : [['Duration', durationOf(outcome.runTimeMs)] as const]),
    ...(outcome === null || outcome.costUsd === null ? [] : [['Cost', `$${outcome.costUsd.toFixed(2)}`] as const]),
    ...(files === 0 ? [] : [['Artifacts', String(files)] as const]),
    ['Source', textOf(data, 'source')] as const,
  ].filter(([, value]) => value !== '');
}

function linksOf(data: Fields, outcome: RunOutcome | null): ChatMessage['links'] {
  const approval = textOf(fieldsOf(data, 'approval'), 'link');
  const page = textOf(data, 'session_link');
  const publicUrl = page.slice(0, -`/runs/${textOf(data, 'run_id')}`.length);
  const trigger = pageOfTrigger(textOf(data, 'trigger_url'), publicUrl);
  const made = (outcome?.artifacts ?? []).flatMap(({ type, title, url }) =>
    url === null || !isWebUrl(url)
      ? []
      : [{ title: labelOf(title ?? (type === 'PULL_REQUEST' ? 'Pull request' : ''), url), url }],
  );
  return [
    ...(approval === '' ? [] : [{ title: isQuestion(data) ? 'Answer' : 'Decide', url: approval }]),
    ...made.slice(0, MAX_LINKS),
    { title: 'Run', url: page },
    ...(trigger !== null && isWebUrl(trigger) ? [{ title: 'Trigger', url: trigger }] : []),
  ];
}

const MAX_HOST = 60;

/** An agent chooses title and URL: the host says where the link leads, before a title that may be cut. */
function labelOf(title: string, url: string): string {
  const { host } = new URL(url);
  // Its end says whose it is.
  const shown = host.length > MAX_HOST ? `…${host.slice(-MAX_HOST)}` : host;
  return title.trim() === '' ? shown : `${shown}: ${inOneLine(title)}`;
}

const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && parseUrl(text) !== null;

function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const fieldsOf = (data: Fields, key: string): Fields => {
  const value = data[key];
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
};
const textOf = (data: Fields, key: string): string => (typeof data[key] === 'string' ? data[key] : '');

/** For headings and labels of links. */
export const inOneLine = (text: string): string =>
  text.toWellFormed().replace(CONTROL, '\uFFFD').replace(DIRECTION, '\uFFFD').replace(/\s+/g, ' ').trim();

/** At most `max` UTF-16 units of what `escape` makes of a text, and never a part of a character or of an escape. */
export function cutEscaped(text: string, max: number, escape: (character: string) => string): string {
  let result = '';
  for (const character of text) {
    const next = escape(character);
    if (result.length + next.length > max - 1) return `${result}…`;
    result += next;
  }
  return result;
}
