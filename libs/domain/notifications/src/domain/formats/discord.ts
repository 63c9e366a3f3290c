import { type ChatMessage, cutEscaped, type DecisionButton, inOneLine } from './chat-message.js';

/** https://discord.com/developers/docs/resources/message#embed-object-embed-limits; all texts of a message: 6,000. */
const MAX = { title: 256, description: 3500, fieldValue: 200, rows: 5, buttonsOfRow: 5, label: 80 };
const MAX_URL = 512;

const COLORS: Readonly<Record<ChatMessage['tone'], number>> = {
  good: 0x2da44e,
  bad: 0xcf222e,
  waiting: 0xbf8700,
  neutral: 0x6e7781,
};

/** Links with a label, mentions and dates need these; other markup only changes how a text looks. */
const escape = (character: string): string => (/[\\[\]<>]/.test(character) ? `\\${character}` : character);
const escaped = (text: string, max: number): string => cutEscaped(text, max, escape);

/** Component types and a style: https://docs.discord.com/developers/components/reference */
const ACTION_ROW = 1;
const BUTTON = 2;
const LINK = 5;

interface LinkButton {
  readonly type: typeof BUTTON;
  readonly style: typeof LINK;
  readonly label: string;
  readonly url: string;
}
interface ActionRow {
  readonly type: typeof ACTION_ROW;
  readonly components: LinkButton[];
}
export interface DiscordMessage {
  readonly content: string;
  readonly allowed_mentions: { readonly parse: [] };
  readonly embeds: {
    readonly title: string;
    readonly url?: string;
    readonly description?: string;
    readonly color: number;
    readonly fields: { readonly name: string; readonly value: string; readonly inline: boolean }[];
  }[];
  readonly components?: ActionRow[];
}

/** Webhooks that belong to no application can only send buttons that are links. */
function rows(buttons: readonly DecisionButton[]): ActionRow[] {
  const all = buttons
    .filter(({ url }) => url.length <= MAX_URL)
    .map(({ label, url }): LinkButton => ({
      type: BUTTON,
      style: LINK,
      label: cutEscaped(inOneLine(label), MAX.label, String),
      url,
    }));
  return Array.from({ length: Math.min(MAX.rows, Math.ceil(all.length / MAX.buttonsOfRow)) }, (_, row) => ({
    type: ACTION_ROW,
    components: all.slice(row * MAX.buttonsOfRow, (row + 1) * MAX.buttonsOfRow),
  }));
}

/** Discord ignores the components of a message without this parameter, unless the webhook belongs to an application. */
export function withComponents(url: string): string {
  const address = new URL(url);
  address.searchParams.set('with_components', 'true');
  return address.href;
}

/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
export function discordMessage({
  heading,
  tone,
  title,
  url,
  text,
  facts,
  links,
  buttons,
}: ChatMessage): DiscordMessage {
  const components = rows(buttons);
  const address = (value: string): string => new URL(value).href.replaceAll('(', '%28').replaceAll(')', '%29');
  const shown = links.filter((link) => address(link.url).length <= MAX_URL);
  const fields = [
    ...facts.map(([name, value]) => ({ name, value: escaped(value, MAX.fieldValue), inline: true })),
    ...shown.slice(0, 3).map((link) => ({
      name: '\u200b',
      value: `[${escaped(inOneLine(link.title), MAX.fieldValue)}](${address(link.url)})`,
      inline: false,
    })),
  ];
  return {
    content: heading,
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: escaped(inOneLine(title), MAX.title),
        ...(url !== null && { url: new URL(url).href }),
        ...(text.trim() !== '' && { description: escaped(text, MAX.description) }),
        color: COLORS[tone],
        fields,
      },
    ],
    ...(components.length > 0 && { components }),
  };
}
