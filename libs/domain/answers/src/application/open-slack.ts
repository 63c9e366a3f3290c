import { Injectable } from '@nestjs/common';
import { SignedDecisions } from '#domain/runs';
import { Settings } from '#platform/config';
import { Database } from '#platform/persistence';
import { ManagedSecrets, SealBrokenError } from '#platform/secrets';
import { SlackAnswers } from '../adapters/slack-answers.js';
import { SlackConnections } from '../adapters/slack-connection.js';
import { AnswerFailure } from '../domain/answer-failure.js';
import type { AnswerChat, AnswerTarget } from '../domain/answer.js';
import { slackThreadMessage } from '../adapters/slack-message.js';
import type { ReadRun } from '../persistence/answers.store.js';

type AnsweredThread = AnswerTarget & { readonly chat: AnswerChat | null };

/** Opens the thread of an answer with the token that the automation names. */
@Injectable()
export class OpenSlack {
  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
    private readonly decisions: SignedDecisions,
    private readonly connections: SlackConnections,
  ) {}

  /** Whether the team has the secret that the automation names. */
  async canOpen({ chat }: AnsweredThread, { teamUid }: Pick<ReadRun, 'teamUid'>): Promise<boolean> {
    if (chat === null || teamUid === null) return false;
    return (await this.secrets.versions(this.database, teamUid, [chat.secretName])).size > 0;
  }

  /** Rejects with an AnswerFailure. */
  async open(answer: AnsweredThread, run: ReadRun, signal: AbortSignal): Promise<SlackAnswers> {
    const { chat } = answer;
    if (chat === null || run.teamUid === null) throw new AnswerFailure('refused', 'The automation names no token.');
    const token = await this.tokenOf(run.teamUid, chat.secretName, run.id);
    const { publicUrl } = this.settings;
    return new SlackAnswers(this.connections.open(token, signal), answer, publicUrl, (shown, mark) =>
      slackThreadMessage(shown, {
        publicUrl,
        mark,
        sign: chat.decisions
          ? ({ id: approvalId, expiresAt }, choice) =>
              this.decisions.sign({
                channel: { type: 'chat_app', uid: chat.automationUid, revision: 0 },
                runId: run.id,
                approvalId,
                choice,
                expiresAt,
              })
          : null,
      }),
    );
  }

  /** With any purpose: a secret for webhooks is one that no run receives. */
  private async tokenOf(teamUid: string, name: string, runId: string): Promise<string> {
    const missing = `The team has no secret \`${name}\` with the token for Slack.`;
    try {
      const secret = await this.database.transaction(async (tx) => {
        const found = await this.secrets.readForWebhook(tx, teamUid, name);
        const details = { run_id: runId, purpose: 'answer in Slack' };
        if (found) await this.secrets.recordUse(tx, teamUid, [name], { actor: { type: 'system' }, details });
        return found;
      });
      if (secret === null) throw new AnswerFailure('refused', missing);
      return secret.value.trim();
    } catch (error) {
      if (error instanceof SealBrokenError)
        throw new AnswerFailure('refused', `The secret \`${name}\` cannot be decrypted.`);
      throw error;
    }
  }
}
