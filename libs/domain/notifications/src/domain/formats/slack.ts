import { type ChatMessage, cutEscaped, type DecisionButton, inOneLine } from './chat-message.js';

/** Of Block Kit: https://docs.slack.dev/reference/block-kit/blocks and …/block-elements/button-element */
const MAX = { header: 150, section: 3000, field: 2000, fields: 10, buttons: 25, label: 75, buttonUrl: 3000 };

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Without these characters a text contains no link, no mention and no date of the markup. */
const escape = (character: string): string => ESCAPES[character] ?? character;
export const escaped = (text: string, max: number): string => cutEscaped(text, max, escape);

interface Plain {
  readonly type: 'plain_text';
  readonly text: string;
  readonly emoji: false;
}
interface Markup {
  readonly type: 'mrkdwn';
  readonly text: string;
  readonly verbatim: true;
}
interface LinkButton {
  readonly type: 'button';
  readonly action_id: string;
  readonly text: Plain;
  readonly url: string;
  readonly style?: 'primary' | 'danger';
}
type Block =
  | { readonly type: 'header'; readonly text: Plain }
  | { readonly type: 'section'; readonly text: Markup }
  | { readonly type: 'section'; readonly fields: Markup[] }
  | { readonly type: 'actions'; readonly elements: LinkButton[] };
export interface SlackMessage {
  readonly text: string;
  readonly unfurl_links: false;
  readonly unfurl_media: false;
  readonly blocks: Block[];
}

const plain = (text: string): Plain => ({ type: 'plain_text', text, emoji: false });
const markup = (text: string): Markup => ({ type: 'mrkdwn', text, verbatim: true });
const section = (text: string): Block => ({ type: 'section', text: markup(text) });
const MAX_LABEL = 200;
const MAX_URL = 2000;

export function link(title: string, url: string): string {
  const label = escaped(inOneLine(title), MAX_LABEL);
  const address = escaped(new URL(url).href.replaceAll('|', '%7C'), MAX_URL);
  return address.endsWith('…') ? label : `<${address}|${label}>`;
}

const STYLES: Readonly<Partial<Record<DecisionButton['tone'], 'primary' | 'danger'>>> = {
  good: 'primary',
  bad: 'danger',
};

/** They open a page: a webhook receives no clicks. */
function actions(buttons: readonly DecisionButton[]): Block[] {
  const elements = buttons
    .filter(({ url }) => url.length <= MAX.buttonUrl)
    .slice(0, MAX.buttons)
    .map(({ label, url, tone }, index): LinkButton => ({
      type: 'button',
      action_id: `decision_${index}`,
      text: plain(escaped(inOneLine(label), MAX.label)),
      url,
      ...(STYLES[tone] && { style: STYLES[tone] }),
    }));
  return elements.length === 0 ? [] : [{ type: 'actions', elements }];
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
export function slackMessage({ heading, title, url, text, facts, links, buttons }: ChatMessage): SlackMessage {
  const fields = facts
    .slice(0, MAX.fields)
    .map(([name, value]) => markup(`*${name}*\n${escaped(value, MAX.field - name.length - 3)}`));
  return {
    // Shown by notifications and by screen readers.
    text: escaped(inOneLine(`${heading}: ${title}`), MAX.section),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plain(cutEscaped(heading, MAX.header, String)) },
      section(url === null ? escaped(title, MAX.section) : `*${link(title, url)}*`),
      ...(text.trim() === '' ? [] : [section(escaped(text, MAX.section))]),
      ...actions(buttons),
      ...(fields.length === 0 ? [] : [{ type: 'section', fields } as const]),
      ...links.map(({ title: label, url: address }) => section(link(label, address))),
    ],
  };
}
