import { maskSecrets } from '#platform/kernel';
import { AGENT_TEXT_MARK, CHECK_NAME_PREFIX } from '#execution/runner-protocol';
import { type AnsweredPullRequest, type AnsweredRun, type CheckUpdate, checkStateOf, STATE_TEXTS } from './answer.js';
import { plainLine, quotation, unformattedLine } from './untrusted-markdown.js';

const MAX_TITLE = 150;
const MAX_REASON = 4_000;
const MAX_PULL_REQUESTS = 10;
const MAX_URL = 500;
/** GitHub's limit for the description of a status; a name is cut to the same length. */
const MAX_STATUS = 140;
/** Of the note about a cut, and the rest of the text. */
const RESERVE = 1_000;

/** In the comment of a run. */
export const markOf = (runId: string, mark: string): string => `<!-- headrace-run ${runId} ${mark} -->`;

interface TextOptions {
  /** Base URL of the console, without a slash at its end. */
  readonly publicUrl: string;
  /** Characters. */
  readonly max: number;
}

/** The marks come first: nothing that follows can hide them. */
export const commentOf = (run: AnsweredRun, mark: string, options: TextOptions): string =>
  `${AGENT_TEXT_MARK}${markOf(run.id, mark)}\n\n${summaryOf(run, options)}`;

/** A comment that the agent of the run has asked for, with its mark. */
export function requestedCommentOf(runId: string, mark: string, body: string, { publicUrl, max }: TextOptions): string {
  const { text } = maskSecrets({ text: body }) as { text: string };
  const head = `${AGENT_TEXT_MARK}${markOf(runId, mark)}\n\n`;
  const foot = `\n\n[Run ${runId}](${publicUrl}/runs/${runId})`;
  const quoted = quotation(text);
  const free = max - head.length - foot.length - 1;
  // Quoting can double a text; its length is limited before.
  return `${head}${quoted.length <= free ? quoted : `${quoted.slice(0, free).replace(/[\uD800-\uDBFF]$/, '')}…`}${foot}`;
}

/** What the run does, in Markdown. Everything that an agent or another stranger has written is quoted. */
export function summaryOf(given: AnsweredRun, { publicUrl, max }: TextOptions): string {
  const run = maskSecrets(given) as AnsweredRun;
  const page = `${publicUrl}/runs/${run.id}`;
  const requests = run.pullRequests.flatMap((one) => requestLine(one) ?? []).slice(-MAX_PULL_REQUESTS);
  const text = [
    `The run [${titleOf(run)}](${page}) **${STATE_TEXTS[run.state].sentence}**.`,
    ...(requests.length > 0 ? [requests.join('\n')] : []),
    ...(run.isForEvent ? [] : ['It was continued elsewhere; the page of the run has more.']),
    ...(run.statusMessage === null ? [] : [quotation(run.statusMessage.slice(0, MAX_REASON))]),
    ...(run.approval === null || run.state !== 'BLOCKED'
      ? []
      : [
          quotation(run.approval.title.slice(0, MAX_REASON)),
          `[Decide](${publicUrl}/console/inbox?item=${run.id}/${encodeURIComponent(run.approval.id)})`,
        ]),
  ].join('\n\n');
  if (run.result === null || run.result.trim() === '') return text;
  const free = max - text.length - RESERVE;
  const quoted = quotation(run.result);
  if (quoted.length <= free) return `${text}\n\n${quoted}`;
  const cut = quoted.slice(0, Math.max(0, free)).replace(/[\uD800-\uDBFF]$/, '');
  return `${text}\n\n${cut}…\n\nThe text is cut here; the [run](${page}) has all of it.`;
}

const titleOf = ({ id, title }: AnsweredRun): string => plainLine(title ?? '', MAX_TITLE) || id;

function requestLine({ url, status }: AnsweredPullRequest): string | null {
  // An address that ends a link early, or has other formatting, is not one of a forge.
  if (url.length > MAX_URL || !/^https?:\/\/[\w.:/~%+-]+$/i.test(url)) return null;
  return `- ${url}${status === null ? '' : ` (${plainLine(status, MAX_TITLE)})`}`;
}

export function checkOf(run: AnsweredRun, options: TextOptions): CheckUpdate {
  const { title } = maskSecrets({ title: run.title ?? run.id }) as { title: string };
  return {
    name: `${CHECK_NAME_PREFIX}${unformattedLine(title, MAX_STATUS - 20)}`,
    state: checkStateOf(run.state),
    url: `${options.publicUrl}/runs/${run.id}`,
    title: STATE_TEXTS[run.state].heading,
    summary: summaryOf(run, options),
  };
}
