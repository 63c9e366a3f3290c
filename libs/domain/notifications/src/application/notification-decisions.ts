import { Injectable } from '@nestjs/common';
import {
  type DecisionChoice,
  type DecisionSubject,
  type SignedDecision,
  type SignedDecisionResult,
  SignedDecisions,
} from '#domain/runs';
import type { AuditSource } from '#platform/audit';
import { Settings } from '#platform/config';
import { Clock, maskSecrets } from '#platform/kernel';
import type { DecisionButton } from '../domain/formats/chat-message.js';
import type { ClaimedNotification } from '../domain/notification-delivery.js';
import type { NotificationWebhook } from '../domain/notification-webhook.js';
import { NotificationWebhooksStore } from '../persistence/notification-webhooks.store.js';

/** A button lives as long as its request, and not longer than this. */
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** As many as a question of the tool `ask_person` can have. A question with more is answered in the console. */
const MAX_OPTIONS = 10;

const CHANNEL = 'notification_webhook';
/** A label without such a character would be an empty button. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** A token that is genuine, of a webhook that still decides, about a request that exists. */
export interface OpenedDecision {
  readonly decision: SignedDecision;
  readonly webhook: NotificationWebhook;
  readonly subject: DecisionSubject;
}

/** Buttons of messages, and what they decide. */
@Injectable()
export class NotificationDecisions {
  constructor(
    private readonly webhooks: NotificationWebhooksStore,
    private readonly decisions: SignedDecisions,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** None when the request was decided before, or cannot be decided from a channel. */
  async buttonsOf(delivery: ClaimedNotification): Promise<DecisionButton[]> {
    const { runId, data, teamUid, webhookUid: uid, decisionsRevision: revision } = delivery;
    const approvalId = approvalIdOf(data);
    if (runId === null || approvalId === null) return [];
    const subject = await this.decisions.find({ runId, approvalId }, teamUid);
    if (subject?.approval.state !== 'pending') return [];
    const expiresAt = new Date(
      Math.min(subject.approval.expires_at.getTime(), this.clock.now().getTime() + MAX_LIFETIME_MS),
    );
    const offered = choicesOf(subject);
    const possible = await this.decisions.possible(
      subject,
      offered.map(({ choice }) => choice),
    );
    return offered.flatMap(({ choice, label, tone }) => {
      if (!possible.has(choice)) return [];
      const token = this.decisions.sign({
        channel: { type: CHANNEL, uid, revision },
        ...{ runId, approvalId, choice, expiresAt },
      });
      return [{ label, tone, url: `${this.settings.publicUrl}/decisions/${token}` }];
    });
  }

  /** Null: the token is forged. */
  verify(token: string): SignedDecision | null {
    return this.decisions.verify(token, CHANNEL);
  }

  /** Null: the webhook of the token decides no more, or the request is gone. */
  async open(decision: SignedDecision): Promise<OpenedDecision | null> {
    const webhook = await this.webhooks.find(decision.channel.uid);
    const isOpen =
      webhook?.enabled === true &&
      webhook.decisions &&
      webhook.format !== 'json' &&
      webhook.decisionsRevision === decision.channel.revision;
    if (!isOpen) return null;
    const subject = await this.decisions.find(decision, webhook.teamUid);
    return subject && { decision, webhook, subject };
  }

  decide(
    { decision, webhook: { uid, name, teamUid } }: OpenedDecision,
    text: string | null,
    source: AuditSource,
  ): Promise<SignedDecisionResult> {
    return this.decisions.decide(decision, {
      decidedBy: { type: CHANNEL, uid, name },
      teamUid,
      ...(text !== null && { text }),
      isOpen: (tx) => this.webhooks.lockDecisions(tx, uid, decision.channel.revision),
      source,
    });
  }
}

interface Offered {
  readonly choice: DecisionChoice;
  readonly label: string;
  readonly tone: DecisionButton['tone'];
}

function choicesOf({ approval: { kind, options, allow_text: allowsText } }: DecisionSubject): Offered[] {
  if (kind === 'permission')
    return [
      { choice: { kind: 'allow' }, label: 'Allow', tone: 'good' },
      { choice: { kind: 'deny' }, label: 'Deny', tone: 'bad' },
    ];
  if (options.length > MAX_OPTIONS) return [];
  return [
    ...options.map(({ name }, index): Offered => {
      const label = String(maskSecrets(name));
      return {
        choice: { kind: 'option', index },
        label: !VISIBLE.test(label) ? `Option ${index + 1}` : label,
        tone: 'neutral',
      };
    }),
    ...(allowsText
      ? [
          {
            choice: { kind: 'text' },
            label: options.length === 0 ? 'Answer' : 'Another answer',
            tone: 'neutral',
          } as const,
        ]
      : []),
  ];
}

function approvalIdOf({ approval }: ClaimedNotification['data']): string | null {
  const id =
    typeof approval === 'object' && approval !== null && 'approval_id' in approval ? approval.approval_id : null;
  return typeof id === 'string' ? id : null;
}
