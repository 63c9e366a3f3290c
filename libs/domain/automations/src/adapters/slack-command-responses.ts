import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { parseJson } from '#platform/kernel';
import { SlackResponses } from '#domain/answers';
import type { AcceptedDelivery, AutomationResult } from '#domain/webhooks';
import { textAt } from '../domain/forge-events/payload-fields.js';

/** Slack cuts longer texts. */
const MAX_LINES = 20;

/**
 * Tells the person who has entered a command which runs it has started. Nobody else sees the response. A command that no automation accepts gets
 * none, so that its sender does not learn what others may do.
 */
@Injectable()
export class SlackCommandResponses {
  private readonly logger = new Logger(SlackCommandResponses.name);

  constructor(
    private readonly responses: SlackResponses,
    private readonly settings: Settings,
  ) {}

  /** Sent again when the evaluation is repeated. Nothing is lost without it. */
  async send(
    { deliveryId, body }: AcceptedDelivery,
    results: readonly AutomationResult[],
    signal?: AbortSignal,
  ): Promise<void> {
    const lines = results.filter(({ matched }) => matched).map(({ runId }) => this.lineOf(runId));
    const responseUrl = textAt(parseJson(body.toString()), 'response_url');
    if (lines.length === 0 || responseUrl === null) return;
    const failure = await this.responses.send(responseUrl, lines.slice(0, MAX_LINES).join('\n'), signal);
    if (failure !== null) this.logger.warn(`The command of the delivery ${deliveryId} got no response: ${failure}`);
  }

  private lineOf(runId: string | undefined): string {
    // The reason is in the log of the delivery, which its readers see.
    if (runId === undefined) return 'No run was started. The log of the delivery says why.';
    return `The run was started: ${this.settings.publicUrl}/runs/${runId}`;
  }
}
