import { truncateUtf8 } from '#platform/kernel';
import { type ChatMessage, type DecisionButton, inOneLine } from './chat-message.js';

/** A message has at most 28 KB. */
const MAX_TITLE_BYTES = 1000;
/** JSON needs twice as many for quotation marks. */
const MAX_TEXT_BYTES = 8_000;
/** With buttons, which need the other bytes. */
const MAX_TEXT_BYTES_WITH_BUTTONS = 4_000;
const MAX_LINK_TITLE_BYTES = 200;
/** More are hidden behind a menu. */
const MAX_ACTIONS = 6;
const MAX_URL = 1000;
const MAX_BUTTONS = 12;
const MAX_BUTTON_BYTES = 80;
const MAX_BUTTON_URL = 700;

const COLORS: Readonly<Record<ChatMessage['tone'], string>> = {
  good: 'Good',
  bad: 'Attention',
  waiting: 'Warning',
  neutral: 'Default',
};

/** A rich text has no markup: a text of a stranger is shown as it is. */
const plain = (text: string, maxBytes: number, style: object = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text: truncateUtf8(text, maxBytes).text, ...style }],
});

const STYLES: Readonly<Record<DecisionButton['tone'], string>> = {
  good: 'positive',
  bad: 'destructive',
  neutral: 'default',
};

/** Sets of as many as are shown without a menu. */
function actionSets(buttons: readonly DecisionButton[]): object[] {
  const actions = buttons
    .filter(({ url }) => url.length <= MAX_BUTTON_URL)
    .slice(0, MAX_BUTTONS)
    .map(({ label, url, tone }) => ({
      type: 'Action.OpenUrl',
      title: truncateUtf8(inOneLine(label), MAX_BUTTON_BYTES).text,
      url,
      style: STYLES[tone],
    }));
  return Array.from({ length: Math.ceil(actions.length / MAX_ACTIONS) }, (_, set) => ({
    type: 'ActionSet',
    actions: actions.slice(set * MAX_ACTIONS, (set + 1) * MAX_ACTIONS),
  }));
}

/** An Adaptive Card for a workflow that posts what its webhook receives: https://adaptivecards.io/explorer/ */
export function teamsMessage({ heading, tone, title, text, facts, links, buttons }: ChatMessage): object {
  const decisions = actionSets(buttons);
  const maxText = decisions.length === 0 ? MAX_TEXT_BYTES : MAX_TEXT_BYTES_WITH_BUTTONS;
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { type: 'TextBlock', text: heading, weight: 'Bolder', color: COLORS[tone], wrap: true },
      plain(inOneLine(title), MAX_TITLE_BYTES, { size: 'Medium', weight: 'Bolder' }),
      ...(text.trim() === '' ? [] : [plain(text, maxText)]),
      ...decisions,
      ...(facts.length === 0
        ? []
        : [{ type: 'FactSet', facts: facts.map(([name, value]) => ({ title: name, value })) }]),
    ],
    actions: links
      .filter(({ url }) => new URL(url).href.length <= MAX_URL)
      .slice(0, MAX_ACTIONS)
      .map((link) => ({
        type: 'Action.OpenUrl',
        title: truncateUtf8(inOneLine(link.title), MAX_LINK_TITLE_BYTES).text,
        url: new URL(link.url).href,
      })),
    msteams: { width: 'Full' },
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}
