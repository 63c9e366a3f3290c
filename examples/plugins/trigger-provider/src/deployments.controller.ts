import { Body, Controller, Param, Post } from '@nestjs/common';
import {
  ArrayField,
  Authorize,
  BooleanField,
  type Caller,
  CurrentCaller,
  EnumField,
  FactoriesService,
  FireAutomations,
  managedFactory,
  Operation,
  pathId,
  StringField,
  text,
} from 'headrace/plugin';
import { DeployTrigger, ENVIRONMENTS } from './deploy-trigger.js';

export class ReportDeploymentRequest {
  @StringField({ blank: false, max: 100, description: 'Permanent id of the deployment.', example: 'd-1' }) id: string;
  @EnumField(ENVIRONMENTS, { description: 'Where it was deployed.' }) environment: string;
  @BooleanField({ description: 'Whether the deployment failed.' }) failed: boolean;
}

export class ReportDeploymentResponse {
  @ArrayField(text(), { description: 'The runs that automations have started.' }) run_ids: string[];
}

/** The source of the events: the deployment system of the team calls it. */
@Controller('factories/:factoryUid/deployments')
export class DeploymentsController {
  constructor(
    private readonly factories: FactoriesService,
    private readonly trigger: DeployTrigger,
    private readonly fire: FireAutomations,
  ) {}

  @Post()
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'reportDeployment',
    summary: 'Report a deployment',
    description: 'Starts the automations of the factory that wait for it. May be repeated.',
    request: { value: { id: 'd-1', environment: 'production', failed: true } },
    success: { status: 201, description: 'The runs.', type: ReportDeploymentResponse },
  })
  async reportDeployment(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: ReportDeploymentRequest,
  ): Promise<ReportDeploymentResponse> {
    const { uid, teamUid } = await managedFactory(this.factories, caller, factoryUid);
    const results = await this.fire.execute(this.trigger.eventOf({ factoryUid: uid, teamUid }, body));
    return { run_ids: results.flatMap(({ runId }) => runId ?? []) };
  }
}
