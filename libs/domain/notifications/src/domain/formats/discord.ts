import { type ChatMessage, cutEscaped, inOneLine } from './chat-message.js';

/** https://discord.com/developers/docs/resources/message#embed-object-embed-limits; all texts of a message: 6,000. */
const MAX = { title: 256, description: 3500, fieldValue: 200 };
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

/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
export function discordMessage({ heading, tone, title, url, text, facts, links }: ChatMessage): object {
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
  };
}
