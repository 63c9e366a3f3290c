import { Extension } from '#platform/plugins';
import { GithubInstallationsStore } from '#domain/environments';
import { type AcceptedDelivery, type AutomationResult, DeliveryEvaluator } from '#domain/webhooks';
import { readInstallationChange } from '../domain/forge-events/installation-change.js';
import { ForgeDeliveries } from './forge-trigger.js';

/**
 * Installations of GitHub Apps that were suspended, removed, or got other permissions: tokens from before are not used any more. A delivery
 * changes nothing else, so that GitHub is asked whether the App is installed.
 */
@Extension()
export class GithubInstallations extends DeliveryEvaluator {
  constructor(
    private readonly forges: ForgeDeliveries,
    private readonly installations: GithubInstallationsStore,
  ) {
    super();
  }

  override async evaluate(delivery: AcceptedDelivery): Promise<readonly AutomationResult[]> {
    const sent = this.forges.sentOf(delivery);
    const change = sent?.provider === 'github' ? readInstallationChange(sent.kind, sent.readPayload) : null;
    if (change) await this.installations.recordChange(delivery.webhook.teamUid, change);
    return [];
  }
}
