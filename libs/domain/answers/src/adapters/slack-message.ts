import { escapedForSlack, inOneLine, slackLink } from '#domain/notifications';
import { maskSecrets, parseUrl, withoutHidden } from '#platform/kernel';
import { type AnsweredRun, type ChatDecision, type PendingApproval, STATE_TEXTS } from '../domain/answer.js';

/** Of Block Kit: https://docs.slack.dev/reference/block-kit/blocks and …/block-elements/button-element */
const MAX_SECTION = 3_000;
const MAX_BUTTON = 75;
const MAX_TITLE = 150;
const MAX_REASON = 2_000;
/** Of a request and of its input. */
const MAX_REQUEST = 2_800;
const MAX_PULL_REQUESTS = 10;
/** More are shown by the page of the run. */
const MAX_OPTIONS = 10;
/** Characters of a result in a message. Slack rejects messages whose blocks are too long altogether. */
const MAX_RESULT = 6_000;
/** Of the `event_type` of the metadata, by which the message of a run is found. */
export const METADATA_TYPE = 'headrace_run';
/** Of the `action_id` of all buttons. */
export const BUTTON_PREFIX = 'headrace_';

interface Markup {
  readonly type: 'mrkdwn';
  readonly text: string;
  readonly verbatim: true;
}
interface Button {
  readonly type: 'button';
  readonly action_id: string;
  readonly text: { readonly type: 'plain_text'; readonly text: string; readonly emoji: false };
  readonly value: string;
  readonly style?: 'primary' | 'danger';
}
type Block =
  | { readonly type: 'section'; readonly text: Markup; readonly expand?: true }
  | { readonly type: 'context'; readonly elements: Markup[] }
  | { readonly type: 'actions'; readonly elements: Button[] };

export interface SlackThreadMessage {
  readonly text: string;
  readonly blocks: Block[];
  readonly unfurl_links: false;
  readonly unfurl_media: false;
  readonly metadata: {
    readonly event_type: typeof METADATA_TYPE;
    readonly event_payload: { readonly run_id: string; readonly mark: string };
  };
}

export type ButtonChoice = { readonly kind: 'allow' | 'deny' } | { readonly kind: 'option'; readonly index: number };

interface MessageOptions {
  readonly publicUrl: string;
  readonly mark: string;
  /** Signs the decision of a button; null: the message has none. */
  readonly sign: ((approval: PendingApproval, choice: ButtonChoice) => string) | null;
}

/** What the run does, in its thread. Everything that an agent or another stranger has written is escaped. */
export function slackThreadMessage(given: AnsweredRun, { publicUrl, mark, sign }: MessageOptions): SlackThreadMessage {
  // Without the request, whose signed id the mask must not change.
  const run = { ...given, ...(maskSecrets({ ...given, approval: null }) as AnsweredRun), approval: given.approval };
  const page = `${publicUrl}/runs/${run.id}`;
  const title = inOneLine(run.title ?? '').slice(0, MAX_TITLE) || run.id;
  const { sentence } = STATE_TEXTS[run.state];
  const requests = run.pullRequests.slice(-MAX_PULL_REQUESTS).flatMap(({ url, status }) => {
    if (!/^https?:\/\//i.test(url) || parseUrl(url) === null) return [];
    return [`• ${slackLink(url, url)}${status === null ? '' : ` (${escapedForSlack(inOneLine(status), MAX_TITLE)})`}`];
  });
  return {
    // Shown by notifications and by screen readers.
    text: `${escapedForSlack(title, MAX_TITLE * 5)} ${sentence}.`,
    blocks: [
      section(`The run *${slackLink(title, page)}* *${sentence}*.`),
      ...(requests.length === 0 ? [] : [section(cut(requests.join('\n')))]),
      ...(run.isForEvent ? [] : [section('It was continued elsewhere; the page of the run has more.')]),
      ...(run.statusMessage === null ? [] : [section(escapedForSlack(run.statusMessage, MAX_REASON))]),
      ...(run.approval === null || run.state !== 'BLOCKED' ? [] : requestBlocks(run.approval, run.id, publicUrl, sign)),
      ...decisionBlocks(run.chatDecision),
      ...resultBlocks(run.result, page),
    ],
    ...NO_PREVIEWS,
    metadata: metadataOf(run.id, mark),
  };
}

/** What the agent of a run has asked for. */
export function requestedMessage(runId: string, mark: string, body: string, publicUrl: string): SlackThreadMessage {
  const { text } = maskSecrets({ text: body }) as { text: string };
  const page = `${publicUrl}/runs/${runId}`;
  return {
    text: escapedForSlack(inOneLine(text).slice(0, MAX_TITLE), MAX_TITLE * 5),
    blocks: [...resultBlocks(text, page), { type: 'context', elements: [markup(slackLink(`Run ${runId}`, page))] }],
    ...NO_PREVIEWS,
    metadata: metadataOf(runId, mark),
  };
}

const NO_PREVIEWS = { unfurl_links: false, unfurl_media: false } as const;
const metadataOf = (runId: string, mark: string): SlackThreadMessage['metadata'] => ({
  event_type: METADATA_TYPE,
  event_payload: { run_id: runId, mark },
});
const markup = (text: string): Markup => ({ type: 'mrkdwn', text, verbatim: true });
const section = (text: string): Block => ({ type: 'section', text: markup(text) });
/** Of lines that have been escaped. */
const cut = (text: string): string =>
  text.length <= MAX_SECTION ? text : text.slice(0, text.lastIndexOf('\n', MAX_SECTION));

/** A decision is offered only if the message shows all of what it decides; the page of the link shows the rest. */
function requestBlocks(
  approval: PendingApproval,
  runId: string,
  publicUrl: string,
  sign: MessageOptions['sign'],
): Block[] {
  const { id, kind } = approval;
  const page = `${publicUrl}/console/inbox?item=${runId}/${encodeURIComponent(id)}`;
  const link = section(slackLink(kind === 'question' ? 'Answer' : 'Decide', page));
  const title = shownText(approval.title, kind === 'question' ? 'markup' : 'code');
  if (sign === null) return [expanded(title.text), link];
  const input = kind === 'question' ? null : shownInput(approval.input);
  const isWhole = title.isWhole && (input === null || input.isWhole);
  const buttons = buttonsOf(approval, isWhole, (choice) => sign(approval, choice));
  return [
    expanded(title.text),
    ...(input?.isUncut === true ? [expanded(input.text)] : []),
    ...(buttons.length === 0 ? [] : [{ type: 'actions', elements: buttons } as const]),
    link,
  ];
}

/** Slack shows only the beginning of a long section, unless it is asked for all of it. */
const expanded = (text: string): Block => ({ type: 'section', text: markup(text), expand: true });

interface Shown {
  readonly text: string;
  readonly isUncut: boolean;
  /** Also without a masked credential. */
  readonly isWhole: boolean;
}

/** `code`: Slack removes the characters of its markup from other text. */
function shownText(given: string, format: 'code' | 'markup'): Shown {
  const masked = String(maskSecrets(given));
  const visible = withoutHidden(masked);
  const text = format === 'code' ? visible.replaceAll('`', '`\u200B') : visible;
  const whole = escapedForSlack(text, Infinity);
  const isUncut = whole.length <= MAX_REQUEST;
  const shown = isUncut ? whole : escapedForSlack(text, MAX_REQUEST);
  return {
    text: format === 'code' ? `\`\`\`${shown}\`\`\`` : shown,
    isUncut,
    isWhole: isUncut && masked === given,
  };
}

/** Null: there is none. */
function shownInput(input: unknown): Shown | null {
  if (input === null || input === undefined) return null;
  // The runner leaves out what is too large for a report.
  const isLeftOut = typeof input === 'object' && 'truncated' in input && input.truncated === true;
  const text = JSON.stringify(maskSecrets(input), null, 2);
  const shown = shownText(text, 'code');
  const isUncut = shown.isUncut && !isLeftOut;
  return { ...shown, isUncut, isWhole: isUncut && shown.isWhole && text === JSON.stringify(input, null, 2) };
}

function buttonsOf(
  { kind, options }: PendingApproval,
  isWhole: boolean,
  sign: (choice: ButtonChoice) => string,
): Button[] {
  if (kind === 'question') {
    const labels = options.flatMap(({ name }) => labelOf(name) ?? []);
    if (!isWhole || options.length > MAX_OPTIONS || labels.length < options.length) return [];
    return labels.map((label, index) => button(`option_${index}`, label, sign({ kind: 'option', index })));
  }
  return [
    ...(isWhole ? [{ ...button('allow', 'Allow', sign({ kind: 'allow' })), style: 'primary' } as const] : []),
    { ...button('deny', 'Deny', sign({ kind: 'deny' })), style: 'danger' },
  ];
}

/** Null: a button cannot show all of the option. */
function labelOf(option: string): string | null {
  const label = inOneLine(withoutHidden(option));
  return label !== '' && label.length <= MAX_BUTTON && maskSecrets(option) === option ? label : null;
}

const button = (name: string, label: string, value: string): Button => ({
  type: 'button',
  action_id: `${BUTTON_PREFIX}${name}`,
  text: { type: 'plain_text', text: label, emoji: false },
  value,
});

const DECISIONS = { allowed: 'Allowed', denied: 'Denied', answered: 'Answered' } as const;

function decisionBlocks(decision: ChatDecision | null): Block[] {
  const user = /^[A-Z0-9]+\/([UW][A-Z0-9]+)$/.exec(decision?.by ?? '')?.[1];
  if (decision === null || user === undefined) return [];
  const option = decision.option === null ? '' : `: ${escapedForSlack(inOneLine(decision.option), MAX_TITLE)}`;
  return [{ type: 'context', elements: [markup(`${DECISIONS[decision.state]} by <@${user}>${option}`)] }];
}

function resultBlocks(result: string | null, page: string): Block[] {
  const text = result?.trim() ?? '';
  if (text === '') return [];
  const blocks: Block[] = [];
  let rest = text.slice(0, MAX_RESULT).toWellFormed();
  while (rest !== '') {
    const part = sectionPart(rest);
    blocks.push(section(escapedForSlack(part, MAX_SECTION)));
    rest = rest.slice(part.length).trimStart();
  }
  if (text.length > MAX_RESULT)
    blocks.push(section(`The text is cut here; the ${slackLink('run', page)} has all of it.`));
  return blocks;
}

/** As much of the beginning as one section can show when it is escaped, at the end of a line if there is one. */
function sectionPart(text: string): string {
  let length = 0;
  let escapedLength = 0;
  for (const character of text) {
    escapedLength += escapedForSlack(character, 10).length;
    if (escapedLength > MAX_SECTION - 10) break;
    length += character.length;
  }
  const lineEnd = text.lastIndexOf('\n', length);
  return length < text.length && lineEnd > length / 2 ? text.slice(0, lineEnd) : text.slice(0, length);
}
