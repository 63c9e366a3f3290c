import { createRequire } from 'node:module';
import type { ActionsBlock, HeaderBlock, SectionBlock } from '@slack/types';
import { ButtonStyle, ComponentType, type RESTPostAPIWebhookWithTokenJSONBody } from 'discord-api-types/v10';
import { parseUrl } from '#platform/kernel';

/** The blocks of Block Kit that messages of notifications use. */
export type SlackBlock = HeaderBlock | SectionBlock | ActionsBlock;

type Check = (isKept: boolean, rule: string) => void;

function violations(check: (expect: Check) => void): string[] {
  const broken: string[] = [];
  check((isKept, rule) => {
    if (!isKept) broken.push(rule);
  });
  return broken;
}

const isBetween = (text: string, min: number, max: number): boolean => text.length >= min && text.length <= max;
const isWebUrl = (url: string): boolean => /^https?:\/\/[^\s]+$/.test(url) && parseUrl(url) !== null;

/** Rules of https://docs.slack.dev/reference/block-kit that the message breaks. */
export const slackViolations = (message: { readonly text: string; readonly blocks: readonly SlackBlock[] }): string[] =>
  violations((expect) => {
    const actionIds: string[] = [];
    expect(isBetween(message.text, 1, 40_000), 'text of a message');
    expect(isBetween(JSON.stringify(message.blocks), 2, 100_000), 'size of the blocks');
    expect(message.blocks.length >= 1 && message.blocks.length <= 50, 'blocks of a message');
    for (const block of message.blocks) {
      switch (block.type) {
        case 'header':
          expect(block.text.type === 'plain_text' && isBetween(block.text.text, 1, 150), 'text of a header');
          break;
        case 'section':
          expect(block.text !== undefined || (block.fields ?? []).length > 0, 'text or fields of a section');
          if (block.text) expect(isBetween(block.text.text, 1, 3000), 'text of a section');
          expect((block.fields ?? []).length <= 10, 'fields of a section');
          for (const field of block.fields ?? []) expect(isBetween(field.text, 1, 2000), 'text of a field');
          break;
        case 'actions':
          expect(block.elements.length >= 1 && block.elements.length <= 25, 'elements of actions');
          for (const element of block.elements) {
            expect(element.type === 'button', 'type of an element');
            if (element.type !== 'button') continue;
            expect(element.text.type === 'plain_text' && isBetween(element.text.text, 1, 75), 'text of a button');
            expect((element.value ?? '').length <= 2000, 'value of a button');
            const { url } = element;
            expect(url === undefined || (isWebUrl(url) && url.length <= 3000), 'URL of a button');
            expect([undefined, 'primary', 'danger'].includes(element.style), 'style of a button');
            actionIds.push(element.action_id ?? '');
          }
          expect(
            block.elements.filter((one) => 'style' in one && one.style === 'primary').length <= 1,
            'primary buttons',
          );
          break;
      }
    }
    expect(
      actionIds.every((id) => isBetween(id, 1, 255)) && new Set(actionIds).size === actionIds.length,
      'ids of actions',
    );
  });

/** Rules of https://docs.discord.com/developers/resources/webhook for a webhook that belongs to no application. */
export const discordViolations = (message: RESTPostAPIWebhookWithTokenJSONBody): string[] =>
  violations((expect) => {
    const { content = '', embeds = [], components = [], allowed_mentions: mentions } = message;
    expect(content.length <= 2000, 'content');
    expect(content !== '' || embeds.length > 0, 'an empty message');
    expect(embeds.length <= 10, 'embeds of a message');
    expect(JSON.stringify(mentions) === '{"parse":[]}', 'mentions that are allowed');
    let total = 0;
    for (const { title = '', description = '', fields = [], url } of embeds) {
      total += [title, description, ...fields.flatMap(({ name, value }) => [name, value])].join('').length;
      expect(title.length <= 256, 'title of an embed');
      expect(description.length <= 4096, 'description of an embed');
      expect(url === undefined || (isWebUrl(url) && url.length <= 2048), 'URL of an embed');
      expect(fields.length <= 25, 'fields of an embed');
      for (const { name, value } of fields)
        expect(isBetween(name, 1, 256) && isBetween(value, 1, 1024), 'text of a field');
    }
    expect(total <= 6000, 'text of all embeds');
    expect(components.length <= 5, 'rows of a message');
    for (const row of components) {
      expect(row.type === ComponentType.ActionRow, 'type of a row');
      if (row.type !== ComponentType.ActionRow) continue;
      expect(row.components.length >= 1 && row.components.length <= 5, 'buttons of a row');
      for (const button of row.components) {
        const isLink = button.type === ComponentType.Button && button.style === ButtonStyle.Link;
        expect(isLink, 'a button that is no link');
        if (!isLink) continue;
        expect(isBetween(button.label ?? '', 1, 80), 'label of a button');
        expect(isWebUrl(button.url) && isBetween(button.url, 1, 512), 'URL of a button');
      }
    }
  });

interface CardModule {
  AdaptiveCard: new () => { parse(card: object, context: object): void };
  SerializationContext: new (version: object) => { eventCount: number; getEventAt(index: number): { message: string } };
  Versions: { v1_4: object };
}
interface Action {
  readonly type: string;
  readonly title?: string;
  readonly url?: string;
  readonly style?: string;
}
interface TeamsMessage {
  readonly type: string;
  readonly attachments: readonly {
    readonly contentType: string;
    readonly content: {
      readonly body: readonly { readonly type: string; readonly actions?: readonly Action[] }[];
      readonly actions: readonly Action[];
    };
  }[];
}

/** Teams rejects larger messages: https://learn.microsoft.com/microsoftteams/platform/bots/how-to/format-your-bot-messages */
const MAX_TEAMS_BYTES = 28_000;
/** Teams shows so many of a set, and the others in a menu. */
const MAX_SHOWN_ACTIONS = 6;

/** What Microsoft's own reader of cards says about the card, and rules of Teams that the message breaks. */
export function teamsViolations(message: object): string[] {
  const cards = createRequire(import.meta.url)('adaptivecards/dist/adaptivecards.js') as CardModule;
  return violations((expect) => {
    expect(Buffer.byteLength(JSON.stringify(message)) <= MAX_TEAMS_BYTES, 'size of the message');
    const { type, attachments } = message as TeamsMessage;
    expect(type === 'message' && attachments.length === 1, 'one attachment');
    for (const { contentType, content } of attachments) {
      expect(contentType === 'application/vnd.microsoft.card.adaptive', 'type of the attachment');
      const context = new cards.SerializationContext(cards.Versions.v1_4);
      new cards.AdaptiveCard().parse(content, context);
      for (let index = 0; index < context.eventCount; index += 1) expect(false, context.getEventAt(index).message);
      const sets = [content.actions, ...content.body.flatMap(({ actions }) => (actions ? [actions] : []))];
      for (const set of sets) {
        expect(set.length <= MAX_SHOWN_ACTIONS, 'actions of a set');
        for (const { type: kind, title = '', url = '', style = 'default' } of set) {
          expect(kind === 'Action.OpenUrl' && isWebUrl(url), 'an action that opens a URL');
          expect(title.trim() !== '', 'title of an action');
          expect(['default', 'positive', 'destructive'].includes(style), 'style of an action');
        }
      }
    }
  });
}
