import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { FactoriesService, inFactory, managedFactory } from '#domain/factories';
import { BodyLimit, MIB, Operation, pageInfo, pathId, unwrap } from '#platform/http';
import { AutomationsService } from '../application/automations.service.js';
import { TestTrigger } from '../application/test-trigger.js';
import type { TriggerScope } from '../application/trigger-provider.js';
import {
  AutomationItem,
  CreateAutomationRequest,
  ListAutomationsParameters,
  ListAutomationsResponse,
  ReplaceAutomationRequest,
  TestAutomationTriggerRequest,
  TestTriggerResponse,
  TestUnsavedTriggerRequest,
} from './automation.dto.js';
import {
  AUTOMATION,
  presentAutomation,
  presentTest,
  toRequestedAutomation,
  toSample,
  withoutObstacle,
} from './automation-presenter.js';

const DEFAULT_LIMIT = 100;
const TEST_DESCRIPTION =
  'Tests with a stored delivery, or with a payload in the request. Returns all checks and the reason for each result. No run is started.';
const TRIGGER_EXAMPLE = { provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 3 * * *' } };
const EXAMPLE = { name: 'nightly', enabled: true, prompt: 'Update the dependencies.', triggers: [TRIGGER_EXAMPLE] };
/** Payloads may be nested deeper than other bodies. */
const DEEP = { maxDepth: 512 };
const INDEX = /^(0|[1-9]\d{0,3})$/;

@ApiTags('Automations')
@Controller('factories/:factoryUid/automations')
export class AutomationsController {
  constructor(
    private readonly factories: FactoriesService,
    private readonly automations: AutomationsService,
    private readonly tests: TestTrigger,
  ) {}

  @Get()
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'listAutomations',
    summary: 'List automations of a factory',
    description: 'The automations of the factory, by name.',
    success: { status: 200, description: 'A page of automations.', type: ListAutomationsResponse },
  })
  async listAutomations(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor }: ListAutomationsParameters,
  ): Promise<ListAutomationsResponse> {
    const result = await this.automations.list(await this.scope(caller, factoryUid), limit, cursor ?? null);
    const { views, nextCursor } = unwrap(result, AUTOMATION);
    return { automations: views.map(presentAutomation), page_info: pageInfo(nextCursor) };
  }

  @Post()
  @Authorize('factories:manage', 'factory')
  @Audited('automation.created')
  @Operation({
    id: 'createAutomation',
    summary: 'Create an automation',
    description:
      'Each event that matches one of its triggers starts one run, which the team owns and whose creator is the principal that saved the automation last. The run may use what the team may use: environments, agent identities and MCP servers of the team; others are rejected with 403, like ones that do not exist. A factory has at most 2,000 automations.',
    request: { value: EXAMPLE },
    success: { status: 201, description: 'The automation.', type: AutomationItem },
    errors: [400, 403, 'limit_reached', 404],
  })
  async createAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: CreateAutomationRequest,
  ): Promise<AutomationItem> {
    const scope = await this.scope(caller, factoryUid);
    const requested = toRequestedAutomation(body);
    const result = await inFactory(() => this.automations.create(scope, caller.principal, requested));
    return presentAutomation(unwrap(result, AUTOMATION).view);
  }

  @Get(':uid')
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'getAutomation',
    summary: 'Get an automation',
    success: { status: 200, description: 'The automation.', type: AutomationItem },
  })
  async getAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<AutomationItem> {
    const result = await this.automations.get(await this.scope(caller, factoryUid), uid);
    return presentAutomation(unwrap(result, AUTOMATION).view);
  }

  @Put(':uid')
  @Authorize('factories:manage', 'factory')
  @Audited('automation.replaced')
  @Operation({
    id: 'replaceAutomation',
    summary: 'Replace an automation',
    description:
      'Sets all fields; omitted optional fields are removed. The body of a GET response can be sent back: unchanged triggers and references are kept even when what they refer to has been deleted, and `***` keeps a value of `env` or `headers` as long as the program or address of the server is unchanged and no other value of it is given in clear text. The name of an automation from a definition cannot be changed here.',
    request: { value: { ...EXAMPLE, enabled: false } },
    success: { status: 200, description: 'The updated automation.', type: AutomationItem },
    errors: [400, 403, 404, 422],
  })
  async replaceAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() body: ReplaceAutomationRequest,
  ): Promise<AutomationItem> {
    const scope = await this.scope(caller, factoryUid);
    const result = await this.automations.replace(scope, caller.principal, uid, toRequestedAutomation(body));
    return presentAutomation(unwrap(result, AUTOMATION).view);
  }

  @Delete(':uid')
  @Authorize('factories:manage', 'factory')
  @Audited('automation.deleted')
  @Operation({
    id: 'deleteAutomation',
    summary: 'Delete an automation',
    description: 'No event starts it any longer. Runs that it has started continue.',
    success: { status: 204, description: 'Deleted.' },
  })
  async deleteAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<void> {
    unwrap(await this.automations.delete(await this.scope(caller, factoryUid), uid), AUTOMATION);
  }

  @Post('test')
  @BodyLimit(MIB, DEEP)
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'testUnsavedTrigger',
    summary: 'Test a trigger',
    description: TEST_DESCRIPTION,
    request: { value: { trigger: TRIGGER_EXAMPLE, payload: {} } },
    success: { status: 200, description: 'Whether it would start a run, and why.', type: TestTriggerResponse },
  })
  async testUnsavedTrigger(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: TestUnsavedTriggerRequest,
  ): Promise<TestTriggerResponse> {
    const scope = await this.scope(caller, factoryUid);
    const result = await this.tests.ofTrigger(scope, withoutObstacle(body.trigger), toSample(body));
    return presentTest(unwrap(result, AUTOMATION));
  }

  @Post(':uid/triggers/:index/test')
  @BodyLimit(MIB, DEEP)
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'testAutomationTrigger',
    summary: 'Test a trigger of an automation',
    description: `${TEST_DESCRIPTION} The index of a trigger counts from 0.`,
    request: { value: { payload: {} } },
    success: { status: 200, description: 'Whether it would start a run, and why.', type: TestTriggerResponse },
  })
  async testAutomationTrigger(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Param('index', pathId(INDEX)) index: string,
    @Body() body: TestAutomationTriggerRequest,
  ): Promise<TestTriggerResponse> {
    const scope = await this.scope(caller, factoryUid);
    const result = await this.tests.ofAutomation(scope, uid, Number(index), toSample(body));
    return presentTest(unwrap(result, AUTOMATION));
  }

  private async scope(caller: Caller, factoryUid: string): Promise<TriggerScope> {
    const { uid, teamUid } = await managedFactory(this.factories, caller, factoryUid);
    return { factoryUid: uid, teamUid };
  }
}
