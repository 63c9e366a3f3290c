import { z } from 'zod';
import { AnswerFailure } from '../domain/answer-failure.js';
import { type AnsweredRun, type ReactionSubject, threadOfNumber } from '../domain/answer.js';
import { METADATA_TYPE, requestedMessage, type SlackThreadMessage } from './slack-message.js';
import type { AnswerPlace, ForgeAnswers, ReactionKind } from './forge-answers.js';
import { read } from './github-answers.js';
import type { SlackConnection } from './slack-connection.js';

const PAGE_SIZE = 200;
const MAX_TEXT = 12_500;
const EMOJI = { received: 'eyes', succeeded: 'white_check_mark', failed: 'x' } as const;

const POSTED = z.object({ ts: z.string() });
const MESSAGE = z.object({
  ts: z.string(),
  metadata: z
    .object({ event_type: z.string().optional(), event_payload: z.record(z.string(), z.unknown()).optional() })
    .optional(),
});
const REPLIES = z.object({
  messages: z.array(MESSAGE),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

/** What is written in one thread. */
export class SlackAnswers implements ForgeAnswers {
  readonly maxText = MAX_TEXT;
  readonly reactsToEnd = true;
  private readonly channel: string;
  private readonly threadTs: string;

  constructor(
    private readonly connection: SlackConnection,
    { repository, number }: AnswerPlace,
    private readonly publicUrl: string,
    private readonly messageOf: (run: AnsweredRun, mark: string) => SlackThreadMessage,
  ) {
    this.channel = repository.split('/')[1] ?? '';
    this.threadTs = threadOfNumber(number);
  }

  async react(subject: ReactionSubject, kind: ReactionKind): Promise<void> {
    const timestamp = subject.replace(/^message\//, '');
    // A message that was deleted needs none.
    await this.connection.call('reactions.add', { channel: this.channel, timestamp, name: EMOJI[kind] }, [
      'already_reacted',
      'message_not_found',
    ]);
  }

  contentOf(run: AnsweredRun, mark: string): string {
    return JSON.stringify(this.messageOf(run, mark));
  }

  requestedContentOf(runId: string, mark: string, text: string): string {
    return JSON.stringify(requestedMessage(runId, mark, text, this.publicUrl));
  }

  async findComment(_runId: string, mark: string): Promise<string | null> {
    for (let cursor = ''; ;) {
      const data = await this.connection.call('conversations.replies', {
        channel: this.channel,
        ts: this.threadTs,
        include_all_metadata: true,
        limit: PAGE_SIZE,
        ...(cursor !== '' && { cursor }),
      });
      const { messages, response_metadata: page } = read(REPLIES, data);
      // In the order of their creation.
      const found = messages.find(
        ({ metadata }) => metadata?.event_type === METADATA_TYPE && metadata.event_payload?.mark === mark,
      );
      if (found) return found.ts;
      cursor = page?.next_cursor ?? '';
      if (cursor === '') return null;
    }
  }

  async createComment(content: string): Promise<string> {
    const message = JSON.parse(content) as SlackThreadMessage;
    const data = await this.connection.call('chat.postMessage', {
      ...message,
      channel: this.channel,
      thread_ts: this.threadTs,
    });
    return read(POSTED, data).ts;
  }

  async updateComment(ts: string, content: string): Promise<boolean> {
    const { text, blocks, metadata } = JSON.parse(content) as SlackThreadMessage;
    const { ok, error } = await this.connection.call(
      'chat.update',
      { channel: this.channel, ts, text, blocks, metadata },
      ['message_not_found', 'edit_window_closed'],
    );
    if (error === 'edit_window_closed')
      throw new AnswerFailure('refused', 'The workspace does not allow editing the message any more.');
    return ok === true;
  }
}
