import { Logger } from '@nestjs/common';
import { Extension } from '#platform/plugins';
import { AnsweredThreads, SlackResponses } from '#domain/answers';
import { alreadyDecided, type SignedDecisionResult, SignedDecisions } from '#domain/runs';
import { type AcceptedDelivery, type AutomationResult, DeliveryEvaluator } from '#domain/webhooks';
import { readSlackClick, type SlackClick } from '../domain/slack-events/slack-click.js';
import { SLACK_SCHEME } from '../domain/slack-events/slack-event.js';
import { AutomationsStore } from '../persistence/automations.store.js';

/**
 * Clicks on buttons in messages of runs decide what the runs wait for. An evaluation that is repeated finds the decision made, and
 * says so.
 */
@Extension()
export class SlackInteractions extends DeliveryEvaluator {
  private readonly logger = new Logger(SlackInteractions.name);

  constructor(
    private readonly decisions: SignedDecisions,
    private readonly automations: AutomationsStore,
    private readonly threads: AnsweredThreads,
    private readonly responses: SlackResponses,
  ) {
    super();
  }

  override async evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    if (delivery.webhook.signatureScheme !== SLACK_SCHEME) return [];
    const click = readSlackClick(parsed(delivery.body));
    if (click !== null) await this.decide(delivery, click, signal);
    return [];
  }

  private async decide(
    { deliveryId, webhook }: AcceptedDelivery,
    click: SlackClick,
    signal?: AbortSignal,
  ): Promise<void> {
    const { team, channel, threadTs, user, userName } = click;
    const decision = this.decisions.verify(click.value, 'chat_app');
    if (decision === null) return this.respond(click, 'This button is not valid.', signal);
    // The place has the workspace of the app: a user of another one finds no message there, and gets no response.
    if (!(await this.threads.hasRun(decision.runId, { team, channel, threadTs }))) {
      this.logger.warn(`The click of the delivery ${deliveryId} is not from the thread and the workspace of the run.`);
      return;
    }
    const result = await this.decisions.decide(decision, {
      decidedBy: { type: 'chat_user', uid: `${team}/${user}`, name: userName },
      teamUid: webhook.teamUid,
      isOpen: (tx) => this.automations.lockDecisions(tx, webhook.factoryUid, decision.channel.uid),
      source: {},
    });
    const text = textOf(result);
    // The message in the thread shows who has decided.
    if (text !== null) await this.respond(click, text, signal);
  }

  /** Nothing is lost without it: the message in the thread shows the state. */
  private async respond({ responseUrl }: SlackClick, text: string, signal?: AbortSignal): Promise<void> {
    const failure = responseUrl === null ? null : await this.responses.send(responseUrl, text, signal);
    if (failure !== null) this.logger.warn(`A user of Slack got no response to a click: ${failure}`);
  }
}

const parsed = (body: Buffer): unknown => JSON.parse(body.toString()) as unknown;

function textOf(result: SignedDecisionResult): string | null {
  switch (result.kind) {
    case 'decided':
      return null;
    case 'already_decided':
      return alreadyDecided(result.outcome);
    case 'expired':
      return 'The time to decide has ended.';
    case 'not_waiting':
      return 'The run does not wait for this decision any more.';
    case 'not_allowed':
      return 'This cannot be decided here. Use the link to the run.';
    case 'invalid':
      return 'The request does not accept this decision. Use the link to the run.';
    case 'not_valid':
      return 'This button is not valid any more.';
  }
}
