import { type ChatMessage, cutEscaped, inOneLine } from './chat-message.js';

/** Of Block Kit: https://docs.slack.dev/reference/block-kit/blocks */
const MAX = { header: 150, section: 3000, field: 2000, fields: 10 };

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Without these characters a text contains no link, no mention and no date of the markup. */
const escape = (character: string): string => ESCAPES[character] ?? character;
const escaped = (text: string, max: number): string => cutEscaped(text, max, escape);

const markup = (text: string) => ({ type: 'mrkdwn', text, verbatim: true });
const section = (text: string) => ({ type: 'section', text: markup(text) });
const MAX_LABEL = 200;
const MAX_URL = 2000;

function link(title: string, url: string): string {
  const label = escaped(inOneLine(title), MAX_LABEL);
  const address = escaped(new URL(url).href.replaceAll('|', '%7C'), MAX_URL);
  return address.endsWith('…') ? label : `<${address}|${label}>`;
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
export function slackMessage({ heading, title, url, text, facts, links }: ChatMessage): object {
  const fields = facts
    .slice(0, MAX.fields)
    .map(([name, value]) => markup(`*${name}*\n${escaped(value, MAX.field - name.length - 3)}`));
  return {
    // Shown by notifications and by screen readers.
    text: escaped(inOneLine(`${heading}: ${title}`), MAX.section),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutEscaped(heading, MAX.header, String), emoji: false } },
      section(url === null ? escaped(title, MAX.section) : `*${link(title, url)}*`),
      ...(text.trim() === '' ? [] : [section(escaped(text, MAX.section))]),
      ...(fields.length === 0 ? [] : [{ type: 'section', fields }]),
      ...links.map(({ title: label, url: address }) => section(link(label, address))),
    ],
  };
}
