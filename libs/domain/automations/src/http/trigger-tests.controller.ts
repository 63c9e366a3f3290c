import { Body, Controller, Param, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { FactoryAccess } from '#domain/factories';
import { BodyLimit, MIB, Operation, pathId } from '#platform/http';
import type { TestTriggerResult } from '../application/automation-outcomes.js';
import { TestTrigger } from '../application/test-trigger.js';
import { toSample, withoutObstacle } from './automation-input.js';
import { automationRefusal, managedScope } from './automation-refusals.js';
import { TestAutomationTriggerRequest, TestTriggerResponse, TestUnsavedTriggerRequest } from './test-trigger.dto.js';

const TAG = 'Automations';
const DESCRIPTION =
  'On a stored delivery, or on a payload that was pasted. Tells the checks that would be made, and what decided each; starts nothing.';
/** Deliveries nest as they like; what is pasted may be deeper than other bodies. */
const DEEP = { maxDepth: 512 };
/** Places of the array; more digits than there are triggers are none. */
const INDEX = /^(0|[1-9]\d{0,3})$/;

@Controller('factories/:factoryUid/automations')
export class TriggerTestsController {
  constructor(
    private readonly access: FactoryAccess,
    private readonly test: TestTrigger,
  ) {}

  @Post('test')
  @BodyLimit(MIB, DEEP)
  @Authorize('factories:read')
  @Operation({
    id: 'testUnsavedTrigger',
    summary: 'Try a trigger before it is saved',
    description: DESCRIPTION,
    tag: TAG,
    request: {
      value: { trigger: { provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 3 * * *' } }, payload: {} },
    },
    success: { status: 200, description: 'Whether it would start a run, and why.', type: TestTriggerResponse },
    errors: [400, 403, 404, 413, 415],
  })
  async testUnsavedTrigger(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: TestUnsavedTriggerRequest,
  ): Promise<TestTriggerResponse> {
    const scope = await managedScope(this.access, caller, factoryUid);
    return present(await this.test.ofTrigger(scope, withoutObstacle(body.trigger), toSample(body)));
  }

  @Post(':uid/triggers/:index/test')
  @BodyLimit(MIB, DEEP)
  @Authorize('factories:read')
  @Operation({
    id: 'testAutomationTrigger',
    summary: 'Try a trigger of an automation',
    description: `${DESCRIPTION} Triggers count from 0.`,
    tag: TAG,
    request: { value: { payload: {} } },
    success: { status: 200, description: 'Whether it would start a run, and why.', type: TestTriggerResponse },
    errors: [400, 403, 404, 413, 415],
  })
  async testAutomationTrigger(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Param('index', pathId(INDEX)) index: string,
    @Body() body: TestAutomationTriggerRequest,
  ): Promise<TestTriggerResponse> {
    const scope = await managedScope(this.access, caller, factoryUid);
    return present(await this.test.ofAutomation(scope, uid, Number(index), toSample(body)));
  }
}

function present(result: TestTriggerResult): TestTriggerResponse {
  if (result.kind !== 'tested') throw automationRefusal(result);
  const { wouldTrigger, checks } = result;
  return {
    would_trigger: wouldTrigger,
    verdict: wouldTrigger ? 'Would trigger' : 'Would not trigger',
    checks: checks.map(({ check, passed, reason }) => ({ check, passed, reason })),
  };
}
