import { Extension } from '#platform/plugins';
import { ArtifactsService } from '#domain/runs';
import { type AcceptedDelivery, type AutomationResult, DeliveryEvaluator } from '#domain/webhooks';
import { ForgeDeliveries } from './forge-trigger.js';

/** Keeps the states of the pull requests that runs of the team have created. */
@Extension()
export class PullRequestStates extends DeliveryEvaluator {
  constructor(
    private readonly forges: ForgeDeliveries,
    private readonly artifacts: ArtifactsService,
  ) {
    super();
  }

  override async evaluate(delivery: AcceptedDelivery): Promise<readonly AutomationResult[]> {
    const state = this.forges.pullRequestOf(delivery);
    if (state) await this.artifacts.updatePullRequests(delivery.webhook.teamUid, state);
    return [];
  }
}
